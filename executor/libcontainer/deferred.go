//go:build linux && cgo && seccomp

package libcontainer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// deferMounts leaves those mounts of the specification to yurt-init that it can make itself, before it does anything
// else and long before there is user code: file systems in memory, terminals, and covers over parts of /proc.
// libcontainer looks each path up as if hostile code could have run there already, which takes it three times as long.
//
// yurt-init is given the capability for it, and gives that up again for good. Under a label of AppArmor or SELinux,
// which may deny it to mount, libcontainer makes all mounts. libcontainer always mounts /proc, which it uses itself,
// and binds.
func deferMounts(spec *specs.Spec, memory int64) {
	process := spec.Process
	if labelled(spec) {
		return
	}
	spec.Mounts = slices.DeleteFunc(spec.Mounts, func(m specs.Mount) bool {
		if m.Type != "tmpfs" && m.Type != "devpts" {
			return false
		}
		flags, data := mountOptions(m.Options)
		process.Args = append(process.Args, fmt.Sprintf("-mount=%s %s %d %s", m.Type, m.Destination, flags, data))
		return true
	})
	for _, path := range spec.Linux.ReadonlyPaths {
		process.Args = append(process.Args, "-readonly="+path)
	}
	for _, path := range spec.Linux.MaskedPaths {
		process.Args = append(process.Args, "-mask="+path)
	}
	process.Args = append(process.Args, "-empty="+layout.EmptyDir,
		"-view="+layout.EmptyDir, "-view-shared="+layout.ProcDir, fmt.Sprintf("-view-memory=%d", memory))
	spec.Linux.ReadonlyPaths, spec.Linux.MaskedPaths = nil, nil
	own := process.Capabilities
	if slices.Contains(own.Permitted, mountCapability) {
		return // it keeps it, for the mounts of each execution
	}
	for _, set := range []*[]string{&own.Bounding, &own.Effective, &own.Permitted} {
		*set = append(slices.Clone(*set), mountCapability)
	}
	process.Args = append(process.Args, "-no-more-mounts")
}

// labelled reports whether processes of the sandbox are under a label of AppArmor or SELinux.
func labelled(spec *specs.Spec) bool {
	return spec.Process.ApparmorProfile != "" || spec.Process.SelinuxLabel != ""
}

// mountCapability is the capability to mount.
const mountCapability = "CAP_SYS_ADMIN"

// mountOptions returns options in the form of mount(2).
func mountOptions(options []string) (flags uintptr, data string) {
	var rest []string
	for _, option := range options {
		switch option {
		case "nosuid":
			flags |= unix.MS_NOSUID
		case "nodev":
			flags |= unix.MS_NODEV
		case "noexec":
			flags |= unix.MS_NOEXEC
		default:
			rest = append(rest, option)
		}
	}
	return flags, strings.Join(rest, ",")
}
