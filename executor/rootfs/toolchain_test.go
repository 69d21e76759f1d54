package rootfs

import (
	"os"
	"slices"
	"testing"
)

func TestEquip(t *testing.T) {
	root := host(t)
	if err := os.MkdirAll(root+"/etc/java", 0o755); err != nil {
		t.Fatal(err)
	}
	allowed := []string{root + "/usr", root + "/etc/java", root + "/out"}
	base, err := FromHost([]string{root + "/usr"}, allowed)
	if err != nil {
		t.Fatal(err)
	}
	wishes := []string{
		root + "/etc/java", root + "/etc/java", root + "/usr/lib", // the last is there
		root + "/secret", root + "/etc", root, "/root", "/", "etc", root + "/usr/../secret", // not offered
		root + "/out", root + "/usr/secret", // offered, and links out
		root + "/etc/java/none",
	}
	l, commands := AddToolchains(base, []Toolchain{{HostPaths: wishes, Path: []string{root + "/usr/bin", root + "/usr/none", root + "/secret", root + "/usr/bin/sh"}}}, allowed)
	if want := []string{root + "/usr", root + "/etc/java"}; !slices.Equal(l.Binds, want) {
		t.Errorf("it binds %q, want %q", l.Binds, want)
	}
	if len(l.Links) != 0 {
		t.Errorf("it links %v, want none", l.Links)
	}
	if want := []string{root + "/usr/bin"}; !slices.Equal(commands, want) {
		t.Errorf("commands are in %q, want %q", commands, want)
	}
}
