package node

import (
	"sync/atomic"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
)

// Handle is a sandbox of this node with all that the executor keeps of it while it lives.
type Handle struct {
	*kernel.Sandbox

	slot     *slot         // that it is in; may be nil
	adoption *adoption     // nil for one that this executor made
	taken    atomic.Bool   // it has an owner, or is about to have one
	claimed  atomic.Int64  // bytes of memory that a claim was promised, before the record has them
	removed  chan struct{} // closed when the last of it is removed
	installs packages.Quota
}

func (n *Node) newHandle(record sandbox.Record, group cgroup.Group, in *slot) *Handle {
	s := &Handle{
		Sandbox: kernel.NewSandbox(run.NewSandbox(start.NewSandbox(sandbox.New(record, group, n.broker, n.config.Dirs), n.cgroups.Version()), run.Node{
			Memory: n.memory, Executions: &n.executions, MaxExecutions: int64(n.config.MaxExecutions), Results: n.results, Messages: kernel.NewMessages,
		})),
		slot: in, removed: make(chan struct{}),
	}
	s.taken.Store(!record.Warm)
	return s
}

// SetTaken says whether the sandbox has an owner.
func (s *Handle) SetTaken(taken bool) { s.taken.Store(taken) }

// IsReady reports whether the sandbox can be claimed, as far as the node is done with taking it over.
func (s *Handle) IsReady() bool {
	if s.adoption == nil {
		return true
	}
	select {
	case <-s.adoption.done:
		return true
	default:
		return false
	}
}

// IsTaken reports whether the sandbox has an owner, or is about to have one.
func (s *Handle) IsTaken() bool { return s.taken.Load() }

// slotID returns the ID of the sandbox's slot, "" without a slot.
func (s *Handle) slotID() string {
	if s.slot == nil {
		return ""
	}
	return s.slot.Spec.ID
}
