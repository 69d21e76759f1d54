package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/oci"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// command runs one with the language that commands have in a sandbox, since many read
// files for it before they do anything.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// bwrapArgs are bwrap's nearest to a sandbox of ours: it has no cgroup limits and
// no seccomp filter.
func bwrapArgs() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/workspace"}
	layout, err := rootfs.FromHost(yurt.DefaultHostPaths(), yurt.DefaultHostPaths())
	if err != nil {
		return nil
	}
	for _, path := range layout.Binds {
		args = append(args, "--ro-bind", path, path)
	}
	for _, link := range layout.Links {
		args = append(args, "--symlink", link.Target, link.Path)
	}
	return append(args, "/bin/true")
}

// runc runs a command in a container of its own.
type runc struct {
	root, bundle string
	count        atomic.Int64
}

func (r *runc) run() error {
	id := fmt.Sprintf("bench-%d-%d", os.Getpid(), r.count.Add(1))
	return command("runc", "--root", r.root, "run", "--bundle", r.bundle, id)
}

// runcBase is the first id on the host of runc's container, of a range like ours.
const runcBase = 2147418112 - idrange.Size

// newRunc prepares a container that is isolated as a sandbox of ours is: the same
// namespaces, mounts, masked paths, limits and list of system calls.
func newRunc(p *place) (*runc, error) {
	l, err := rootfs.FromHost(yurt.DefaultHostPaths(), yurt.DefaultHostPaths())
	if err != nil {
		return nil, err
	}
	r := &runc{root: filepath.Join(p.runDir, "runc"), bundle: filepath.Join(p.dir, "bundle")}
	root := filepath.Join(r.bundle, "rootfs")
	if err := furnish(root, l); err != nil {
		return nil, err
	}
	spec, err := runcSpec(l)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	// The container's user has to get to its root.
	if err := os.Chmod(p.dir, 0o755); err != nil {
		return nil, err
	}
	return r, os.WriteFile(filepath.Join(r.bundle, "config.json"), data, 0o600)
}

func runcSpec(l layout.Layout) (*specs.Spec, error) {
	limits := yurt.DefaultResources()
	spec := oci.Spec(oci.Options{IDBase: runcBase, Layout: l, Disk: limits.Disk, Memory: limits.Memory, MaxFiles: 4096})
	spec.Root.Path = "rootfs"
	spec.Linux.Sysctl = nil // older ones know no sysctl of a user namespace
	spec.Process.Args = []string{"/bin/true"}
	spec.Process.Capabilities = &specs.LinuxCapabilities{}
	dev := specs.Mount{Destination: layout.DevDir, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "noexec", "mode=0755", "size=64k"}}
	spec.Mounts = append([]specs.Mount{dev}, spec.Mounts...)
	for _, path := range l.Binds {
		spec.Mounts = append(spec.Mounts, specs.Mount{Destination: path, Source: path, Type: "bind", Options: []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	memory, pids := int64(limits.Memory), int64(limits.PIDs)
	period := uint64(100_000)
	quota := int64(limits.CPU * float64(period))
	spec.Linux.Resources.Memory = &specs.LinuxMemory{Limit: &memory}
	spec.Linux.Resources.CPU = &specs.LinuxCPU{Period: &period, Quota: &quota}
	spec.Linux.Resources.Pids = &specs.LinuxPids{Limit: &pids}
	var err error
	spec.Linux.Seccomp, err = seccomp.GetDefaultProfile(spec)
	return spec, err
}

// furnish makes the root that our launcher makes once for all sandboxes.
func furnish(root string, l layout.Layout) error {
	for _, dir := range l.Dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, link := range l.Links {
		if err := os.Symlink(link.Target, filepath.Join(root, link.Path)); err != nil {
			return err
		}
	}
	for _, file := range l.Files {
		if err := os.WriteFile(filepath.Join(root, file.Path), []byte(file.Data), 0o644); err != nil {
			return err
		}
	}
	return nil
}
