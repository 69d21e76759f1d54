package executor

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/yurtrun/yurt/executor/rootfs"
)

// toolchains returns the files of the host that the runtimes of a template need. A runtime that does
// not answer is left out: an execution of its code is told the reason.
func (e *Executor) toolchains(ctx context.Context, runtimes []string) []rootfs.Toolchain {
	answers := make([]rootfs.Toolchain, len(runtimes))
	var asked sync.WaitGroup
	for i, name := range runtimes {
		asked.Go(func() {
			info, err := e.runtimes.RuntimeOf(ctx, name)
			if err != nil {
				e.logger.Warn("a sandbox lacks what a language may need", "runtime", name, "error", err)
				return
			}
			answers[i] = rootfs.Toolchain{HostPaths: info.HostPaths, Path: info.Path}
		})
	}
	asked.Wait()
	return answers
}

// defaultPath is the PATH of processes where no layer of their environment has one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// withPath returns env with the directories of the toolchains' commands at the end of PATH.
func withPath(env map[string]string, dirs []string) map[string]string {
	list := strings.Split(env["PATH"], ":")
	missing := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(list, dir) })
	if len(missing) == 0 {
		return env
	}
	more := make(map[string]string, len(env)+1)
	for name, value := range env {
		more[name] = value
	}
	more["PATH"] = strings.Join(append(list, missing...), ":")
	return more
}
