package node

import (
	"context"
	"sync"

	"github.com/yurtrun/yurt/executor/rootfs"
)

// toolchains returns the files of the host that the runtimes of a template need. A runtime that does
// not answer is left out: an execution of its code is told the reason.
func (n *Node) toolchains(ctx context.Context, runtimes []string) []rootfs.Toolchain {
	answers := make([]rootfs.Toolchain, len(runtimes))
	var asked sync.WaitGroup
	for i, name := range runtimes {
		asked.Go(func() {
			info, err := n.runtimes.RuntimeOf(ctx, name)
			if err != nil {
				n.logger.Warn("a sandbox lacks what a language may need", "runtime", name, "error", err)
				return
			}
			answers[i] = rootfs.Toolchain{HostPaths: info.HostPaths, Path: info.Path}
		})
	}
	asked.Wait()
	return answers
}
