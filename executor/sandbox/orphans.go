package sandbox

import (
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt/executor/cgroup"
)

// orphans are the cgroups of runs and kernels that have ended and left processes behind. Each cgroup
// is removed when these processes have ended too, and not only with its sandbox: the kernel has
// 65,535 cgroups that account for memory, for all sandboxes of the node.
type orphans struct {
	mu    sync.Mutex
	names []string // the one that was looked at the longest ago comes first
}

// orphanChecks is how many of them are looked at whenever another run ends. With more than one there
// are never many more than are in use, and of those no more than the sandbox may have processes.
const orphanChecks = 2

func (l *orphans) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, name)
}

// take takes those out that are to be looked at.
func (l *orphans) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(orphanChecks, len(l.names))
	taken := l.names[:n]
	l.names = l.names[n:]
	return taken
}

// RemoveLeaf removes the cgroup of a run or a kernel that has ended. It also removes orphans of
// earlier ones whose processes have ended meanwhile.
func (s *Sandbox) RemoveLeaf(name string, leaf cgroup.Leaf) {
	for _, earlier := range s.orphans.take() {
		if errors.Is(s.Group.Find(earlier).Remove(), cgroup.ErrBusy) {
			s.orphans.add(earlier)
		}
	}
	for range 20 { // a killed process leaves its cgroup a moment after it is gone
		if !errors.Is(leaf.Remove(), cgroup.ErrBusy) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.orphans.add(name)
}
