//go:build linux && cgo && seccomp

package libcontainer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// TestSkeletonWritesNoFileOfTheHost: links of a layout are made with the targets that they have on the host, so a skeleton's file in
// the place of a link, or below one, would be written to the host.
func TestSkeletonWritesNoFileOfTheHost(t *testing.T) {
	for name, c := range map[string]struct{ link, write string }{
		"a file":         {"/etc/resolv.conf", "/etc/resolv.conf"},
		"a parent":       {"/etc/dir", "/etc/dir/file"},
		"init":           {layout.InitPath, ""},
		"a file of ours": {layout.ProcDir + "/cpuinfo", ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := t.TempDir()
			target := filepath.Join(host, "victim")
			victim := target
			if name == "a parent" {
				target, victim = host, filepath.Join(host, "file")
			}
			if err := os.WriteFile(victim, []byte("of the host"), 0o600); err != nil {
				t.Fatal(err)
			}
			within, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer within.Close()
			root := layout.Layout{Dirs: []string{"/etc"}, Links: []layout.Link{{Path: c.link, Target: target}}}
			if c.write != "" {
				root.Files = []layout.File{{Path: c.write, Data: "of the sandbox"}}
			}
			if err := (&skeletons{initBin: []byte("init")}).fill(within, root); err == nil {
				t.Errorf("a layout with a link to %s was carried out", target)
			}
			data, err := os.ReadFile(victim)
			if err != nil || string(data) != "of the host" {
				t.Errorf("the host's file holds %q, %v", data, err)
			}
			if info, err := os.Stat(victim); err != nil || info.Mode() != 0o600 {
				t.Errorf("the host's file has the mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestSkeletonLinksWithinItself: a link below a link is made where the first leads, which must not be the host.
func TestSkeletonLinksWithinItself(t *testing.T) {
	host := t.TempDir()
	within, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer within.Close()
	root := layout.Layout{Links: []layout.Link{{Path: "/out", Target: host}, {Path: "/out/link", Target: "/etc/passwd"}}}
	if err := (&skeletons{}).fill(within, root); err == nil {
		t.Error("a layout with a link below a link to the host was carried out")
	}
	if entries, err := os.ReadDir(host); err != nil || len(entries) != 0 {
		t.Errorf("the host's directory has %v, %v", entries, err)
	}
}
