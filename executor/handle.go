package executor

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
)

// handle is a sandbox of this node with all that the executor keeps of it while it lives.
type handle struct {
	*kernel.Sandbox

	slot     *slot         // that it is in; nil for none
	adoption *adoption     // nil for one that this executor made
	taken    atomic.Bool   // it has an owner, or is about to have one
	removed  chan struct{} // closed when the last of it is removed
	installs packages.Quota
}

func (e *Executor) newHandle(record sandbox.Record, group cgroup.Group, in *slot) *handle {
	id := record.Spec.ID
	s := &handle{
		Sandbox: kernel.NewSandbox(run.NewSandbox(start.NewSandbox(sandbox.New(record, group, e.dirOf(id), e.storeOf(id)), e.cgroups.Version()), run.Node{
			Memory: e.memory, Executions: &e.executions, MaxExecutions: int64(e.config.MaxExecutions), Results: e.results, Messages: kernel.NewMessages,
		})),
		slot: in, removed: make(chan struct{}),
	}
	s.taken.Store(!record.Warm)
	return s
}

// SetTaken says whether the sandbox has an owner.
func (s *handle) SetTaken(taken bool) { s.taken.Store(taken) }

// IsReady reports whether the sandbox can be claimed, as far as the node is done with taking it over.
func (s *handle) IsReady() bool {
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
func (s *handle) IsTaken() bool { return s.taken.Load() }

// slotID returns the id of the slot that it is in, "" for none.
func (s *handle) slotID() string {
	if s.slot == nil {
		return ""
	}
	return s.slot.Spec.ID
}

// storeOf returns the directory that a sandbox has on disk.
func (e *Executor) storeOf(id string) string {
	return filepath.Join(e.config.StateDir, rundir.Sandboxes, id)
}

// dirOf returns the directory of a sandbox's record. Versions without a runtime
// directory had it on disk, and there it stays.
func (e *Executor) dirOf(id string) string {
	if _, err := os.Stat(filepath.Join(e.storeOf(id), sandbox.RecordFile)); err == nil {
		return e.storeOf(id)
	}
	return filepath.Join(e.runDir, rundir.Sandboxes, id)
}
