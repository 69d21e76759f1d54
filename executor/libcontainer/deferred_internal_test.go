//go:build linux && cgo && seccomp

package libcontainer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func specOf(change func(*specs.Spec)) *specs.Spec {
	capabilities := []string{"CAP_KILL"}
	spec := &specs.Spec{
		Process: &specs.Process{
			Args:         []string{"/init"},
			Capabilities: &specs.LinuxCapabilities{Bounding: capabilities, Effective: capabilities, Permitted: capabilities},
		},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Options: []string{"nosuid"}},
			{Destination: "/tmp", Type: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777", "size=4096"}},
			{Destination: "/workspace", Type: "bind", Source: "/image", Options: []string{"bind"}},
		},
		Linux: &specs.Linux{MaskedPaths: []string{"/proc/kcore"}, ReadonlyPaths: []string{"/proc/sys"}},
	}
	change(spec)
	return spec
}

// TestDeferredMounts: either yurt-init or libcontainer makes a mount, never both.
func TestDeferredMounts(t *testing.T) {
	spec := specOf(func(*specs.Spec) {})
	deferMounts(spec, 512<<20)
	want := []string{
		"/init", "-mount=tmpfs /tmp 6 mode=1777,size=4096", "-readonly=/proc/sys", "-mask=/proc/kcore", "-empty=/.yurt-empty",
		"-view=/.yurt-empty", "-view-shared=/.yurt-proc", "-view-memory=536870912", "-no-more-mounts",
	}
	if diff := cmp.Diff(want, spec.Process.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	var left []string
	for _, m := range spec.Mounts {
		left = append(left, m.Destination)
	}
	if !slices.Equal(left, []string{"/proc", "/workspace"}) || len(spec.Linux.MaskedPaths)+len(spec.Linux.ReadonlyPaths) != 0 {
		t.Errorf("left to libcontainer: mounts %q, masked %q, read-only %q", left, spec.Linux.MaskedPaths, spec.Linux.ReadonlyPaths)
	}
	c := spec.Process.Capabilities
	for _, set := range [][]string{c.Bounding, c.Effective, c.Permitted} {
		if !slices.Equal(set, []string{"CAP_KILL", mountCapability}) {
			t.Errorf("it has %q", set)
		}
	}
}

// TestLabelledInitMountsNothing: a label may deny mounts to init.
func TestLabelledInitMountsNothing(t *testing.T) {
	for name, label := range map[string]func(*specs.Spec){
		"apparmor": func(s *specs.Spec) { s.Process.ApparmorProfile = "profile" },
		"selinux":  func(s *specs.Spec) { s.Process.SelinuxLabel = "label" },
	} {
		spec := specOf(label)
		deferMounts(spec, 512<<20)
		if diff := cmp.Diff(specOf(label), spec); diff != "" {
			t.Errorf("%s: it was changed (-want +got):\n%s", name, diff)
		}
	}
}

// TestLayeredInitGoesOnMounting for each execution.
func TestLayeredInitGoesOnMounting(t *testing.T) {
	spec := specOf(func(s *specs.Spec) {
		s.Process.Capabilities.Permitted = []string{mountCapability}
	})
	deferMounts(spec, 512<<20)
	if slices.Contains(spec.Process.Args, "-no-more-mounts") {
		t.Errorf("it is told to give that up: %q", spec.Process.Args)
	}
}
