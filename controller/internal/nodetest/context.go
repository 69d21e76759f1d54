package nodetest

import (
	"context"

	"github.com/yurtrun/yurt"
)

// Contexts implements contract.Node: the node has no contexts, and keeps no state.
func (n *Node) Contexts(_ context.Context, sandboxID string) ([]yurt.Context, error) {
	_, err := n.find(sandboxID)
	return []yurt.Context{}, err
}

// RestartContext implements contract.Node.
func (n *Node) RestartContext(_ context.Context, sandboxID, name, _ string) error {
	return n.noContext(sandboxID, name)
}

// RemoveContext implements contract.Node.
func (n *Node) RemoveContext(_ context.Context, sandboxID, name, _ string) error {
	return n.noContext(sandboxID, name)
}

// AskContext implements contract.Node.
func (n *Node) AskContext(_ context.Context, sandboxID, name string, _ yurt.Question) (yurt.Answer, error) {
	return yurt.Answer{}, n.noContext(sandboxID, name)
}

func (n *Node) noContext(sandboxID, name string) error {
	if _, err := n.find(sandboxID); err != nil {
		return err
	}
	return yurt.Errorf(yurt.CodeContextNotFound, "there is no context %q", name)
}
