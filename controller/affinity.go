package controller

import (
	"context"
	"log/slog"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

const (
	agentLooks = 10 // sessions of an agent that are looked at for where it was
	agentNodes = 3  // nodes that are named to the placer
)

// hints says where a session would like to be: where its agent was before, last first.
func hints(ctx context.Context, store contract.Store, log *slog.Logger, session yurt.Session) contract.Hints {
	if session.AgentID == "" {
		return contract.Hints{}
	}
	sessions, err := store.Sessions(ctx, contract.SessionQuery{AgentID: session.AgentID, Limit: agentLooks})
	if err != nil {
		log.Warn("looking for where an agent was", "agent", session.AgentID, "error", err)
		return contract.Hints{}
	}
	var where contract.Hints
	for _, earlier := range sessions {
		node := earlier.Placement.Node
		if node != "" && !slices.Contains(where.Prefer, node) && len(where.Prefer) < agentNodes {
			where.Prefer = append(where.Prefer, node)
		}
	}
	return where
}
