package executor

import (
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt/executor/cgroup"
)

// leftLeaves are the cgroups of runs and kernels that have ended, and left processes behind which
// go on. Each is removed when these have ended too, and not only with its sandbox: the kernel has
// 65,535 cgroups that account for memory, for all sandboxes of the node.
type leftLeaves struct {
	mu    sync.Mutex
	names []string // that first which was looked at the longest ago
}

// leftLooks is how many of them are looked at whenever another run ends. With more than one there
// are never many more than are in use, and of those no more than the sandbox may have processes.
const leftLooks = 2

func (l *leftLeaves) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, name)
}

// take takes those out that are to be looked at.
func (l *leftLeaves) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(leftLooks, len(l.names))
	taken := l.names[:n]
	l.names = l.names[n:]
	return taken
}

// removeLeaf removes the cgroup of a run or a kernel that has ended, and such as could not be removed
// when theirs did.
func (s *sandbox) removeLeaf(name string, leaf cgroup.Leaf) {
	for _, earlier := range s.left.take() {
		if errors.Is(s.group.Find(earlier).Remove(), cgroup.ErrBusy) {
			s.left.add(earlier)
		}
	}
	for range 20 { // a killed process leaves its cgroup a moment after it is gone
		if !errors.Is(leaf.Remove(), cgroup.ErrBusy) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.left.add(name)
}
