//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/procview"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// bindProc has libcontainer bind the sandbox's own files over those of /proc, where yurt-init does not do so: under a label. It has
// those masked that libcontainer binds nothing over. remove takes the files away, once the sandbox has them.
func bindProc(req *launch.CreateRequest) (remove func() error, err error) {
	if !labelled(req.Spec) {
		return func() error { return nil }, nil
	}
	dir := filepath.Join(skeletonDir, req.ID+".proc")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a sandbox's /proc: %w", err)
	}
	unmount, err := procview.MountStore(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	remove = func() error { return errors.Join(unmount(), os.Remove(dir)) }
	files, err := procview.FilesOutside(req.Memory)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	bind := func(source, target string) {
		req.Spec.Mounts = append(req.Spec.Mounts, specs.Mount{Destination: target, Type: "bind", Source: source, Options: []string{"bind", "nosuid", "nodev", "noexec"}})
	}
	for _, f := range files {
		if !bindable(f.Path) {
			req.Spec.Linux.MaskedPaths = append(req.Spec.Linux.MaskedPaths, f.Path)
			continue
		}
		file, err := f.Make(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("making a sandbox's %s: %w", f.Path, err), remove())
		}
		file.Close()
		bind(file.Name(), f.Path)
	}
	for _, path := range procview.SharedPaths() {
		if bindable(path) {
			bind(filepath.Join(req.Spec.Root.Path, layout.ProcDir, filepath.Base(path)), path)
		} else {
			req.Spec.Linux.MaskedPaths = append(req.Spec.Linux.MaskedPaths, path)
		}
	}
	return remove, nil
}

// bindable reports whether libcontainer binds a file over this one.
func bindable(path string) bool {
	return slices.Contains([]string{"/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/swaps", "/proc/uptime"}, path)
}
