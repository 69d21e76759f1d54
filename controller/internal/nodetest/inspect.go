package nodetest

import (
	"context"

	"github.com/yurtrun/yurt"
)

// PauseSandbox implements contract.Node. Executions go on: only the state changes.
func (n *Node) PauseSandbox(_ context.Context, id string) error {
	return n.setState("PauseSandbox", id, yurt.SandboxPaused)
}

// ResumeSandbox implements contract.Node.
func (n *Node) ResumeSandbox(_ context.Context, id string) error {
	return n.setState("ResumeSandbox", id, yurt.SandboxReady)
}

func (n *Node) setState(method, id string, state yurt.SandboxState) error {
	if err := n.failure(method); err != nil {
		return err
	}
	s, err := n.find(id)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.info.State = state
	return nil
}

// Processes implements contract.Node: one for each execution that the node knows,
// numbered from 2.
func (n *Node) Processes(_ context.Context, sandboxID string) ([]yurt.Process, error) {
	s, err := n.find(sandboxID)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []yurt.Process
	for id := range s.runs {
		list = append(list, yurt.Process{PID: len(list) + 2, ParentPID: 1, ExecutionID: id, Name: "fake", Args: []string{"fake"}})
	}
	return list, nil
}

// SignalProcess implements contract.Node.
func (n *Node) SignalProcess(ctx context.Context, sandboxID string, pid int, signal yurt.Signal) error {
	list, err := n.Processes(ctx, sandboxID)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.PID == pid {
			return n.SignalExecution(ctx, sandboxID, p.ExecutionID, signal)
		}
	}
	return yurt.Errorf(yurt.CodeProcessNotFound, "the sandbox has no process %d", pid)
}

// SandboxStats implements contract.Node.
func (n *Node) SandboxStats(_ context.Context, sandboxID string) (yurt.SandboxStats, error) {
	s, err := n.find(sandboxID)
	if err != nil {
		return yurt.SandboxStats{}, err
	}
	return yurt.SandboxStats{MemoryBytes: 1 << 20, MemoryLimitBytes: int64(s.spec.Resources.Memory)}, nil
}

// SandboxHealth implements contract.Node.
func (n *Node) SandboxHealth(ctx context.Context, sandboxID string) (yurt.SandboxHealth, error) {
	s, err := n.find(sandboxID)
	if err != nil {
		return yurt.SandboxHealth{}, err
	}
	stats, err := n.SandboxStats(ctx, sandboxID)
	n.mu.Lock()
	defer n.mu.Unlock()
	return yurt.SandboxHealth{State: s.info.State, Reason: s.info.Reason, InitAnswers: true, Usage: &stats}, err
}
