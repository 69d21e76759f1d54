package run

import (
	"context"
	"sync/atomic"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/start"
)

// Sandbox is a sandbox with the executions in it.
type Sandbox struct {
	*start.Sandbox

	node Node
	runs map[string]*Run // the sandbox's lock guards it
}

// Node is the state that the executions of all sandboxes of a node share.
type Node struct {
	Memory        *runlog.Memory // for logs
	Executions    *atomic.Int64  // that have not ended
	MaxExecutions int64
	Results       *output.Budget // for results that are assembled
	// Messages returns the reader of the messages in the log of an execution in a context.
	Messages func(id string, cell yurt.ExecutionSpec) Messages
}

// NewSandbox returns the sandbox with an empty table of executions.
func NewSandbox(s *start.Sandbox, node Node) *Sandbox {
	return &Sandbox{Sandbox: s, node: node, runs: make(map[string]*Run)}
}

// ForRun returns the sandbox as this package has it, of a handle that embeds it.
func (s *Sandbox) ForRun() *Sandbox { return s }

// SetLogMemory has the logs of executions to come kept in another part of the node's memory.
func (s *Sandbox) SetLogMemory(memory *runlog.Memory) { s.node.Memory = memory }

// ReadLog waits until no other log of the node is read as a whole, until the caller calls done: logs of earlier versions
// have whole results in one entry.
func (s *Sandbox) ReadLog(ctx context.Context) (done func(), err error) {
	return s.node.Results.Take(ctx, output.DefaultBudget)
}

// WaitAll waits until every execution has its result.
func (s *Sandbox) WaitAll(ctx context.Context) {
	for _, r := range s.allRuns() {
		select {
		case <-r.done:
		case <-ctx.Done():
			return
		}
	}
}

// Close closes the logs of the executions and the descriptors of the handle; the sandbox lives on.
func (s *Sandbox) Close() {
	s.Lock()
	for _, r := range s.runs {
		r.Log.Close()
	}
	s.Unlock()
	s.Sandbox.Close()
}

// Find returns the execution of that id; nil if the node does not know it.
func (s *Sandbox) Find(id string) *Run {
	s.Lock()
	defer s.Unlock()
	return s.runs[id]
}

// Adopt makes an execution known that an earlier executor began and that has not ended.
func (s *Sandbox) Adopt(r *Run) {
	s.Lock()
	defer s.Unlock()
	s.runs[r.Record.ID] = r
	s.node.Executions.Add(1)
}
