package controller

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

const (
	agentLooks = 10 // sessions of an agent that are looked at for where it was
	agentNodes = 3  // nodes that are named to the placer
)

// hints says where a session would like to be: where its agent was before, last first.
func (c *Controller) hints(ctx context.Context, session yurt.Session) contract.Hints {
	if session.AgentID == "" {
		return contract.Hints{}
	}
	sessions, err := c.store.Sessions(ctx, contract.SessionQuery{AgentID: session.AgentID, Limit: agentLooks})
	if err != nil {
		c.life.Log.Warn("looking for where an agent was", "agent", session.AgentID, "error", err)
		return contract.Hints{}
	}
	var hints contract.Hints
	for _, earlier := range sessions {
		node := earlier.Placement.Node
		if node != "" && !slices.Contains(hints.Prefer, node) && len(hints.Prefer) < agentNodes {
			hints.Prefer = append(hints.Prefer, node)
		}
	}
	return hints
}
