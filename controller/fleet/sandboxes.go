package fleet

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
)

// Sandboxes lists the sandboxes of all nodes that answer, oldest first.
func (n *Nodes) Sandboxes(ctx context.Context) ([]yurt.Sandbox, error) {
	nodes, err := n.placer.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	shown, err := n.shownSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	var list []yurt.Sandbox
	for _, sandboxes := range listSandboxes(ctx, n.life.Log, nodes) {
		for _, sandbox := range sandboxes {
			if shown(sandbox) {
				list = append(list, sandbox)
			}
		}
	}
	slices.SortFunc(list, func(a, b yurt.Sandbox) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// shownSandboxes tells which sandboxes the caller may see: those of its tenant's sessions. The operator sees the warm ones too.
func (n *Nodes) shownSandboxes(ctx context.Context) (func(yurt.Sandbox) bool, error) {
	caller, known := access.From(ctx)
	if !known || caller.Everywhere() {
		return func(yurt.Sandbox) bool { return true }, nil
	}
	sessions, err := n.store.Sessions(ctx, contract.SessionQuery{Live: true})
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool, len(sessions))
	for _, session := range sessions {
		own[session.ID] = true
	}
	return func(s yurt.Sandbox) bool {
		owner := s.Labels[yurt.SessionLabel]
		return own[owner] || owner == "" && caller.Operates()
	}, nil
}

// Sandbox returns one of them.
func (n *Nodes) Sandbox(ctx context.Context, id string) (yurt.Sandbox, error) {
	list, err := n.Sandboxes(ctx)
	if err != nil {
		return yurt.Sandbox{}, err
	}
	at := slices.IndexFunc(list, func(s yurt.Sandbox) bool { return s.ID == id })
	if at < 0 {
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeSandboxNotFound, "no node that answers has a sandbox %.64q", id)
	}
	return list[at], nil
}

// SandboxHealth asks the node of a sandbox whether it works.
func (n *Nodes) SandboxHealth(ctx context.Context, id string) (yurt.SandboxHealth, error) {
	sandbox, err := n.Sandbox(ctx, id)
	if err != nil {
		return yurt.SandboxHealth{}, err
	}
	node, err := n.placer.Node(ctx, sandbox.Node)
	if err != nil {
		return yurt.SandboxHealth{}, err
	}
	return node.SandboxHealth(ctx, id)
}

// listSandboxes returns the sandboxes by id, for each node that answers.
func listSandboxes(ctx context.Context, log *slog.Logger, nodes map[string]contract.Node) map[string]map[string]yurt.Sandbox {
	listed := make(map[string]map[string]yurt.Sandbox, len(nodes))
	for name, node := range nodes {
		sandboxes, err := node.Sandboxes(ctx)
		if err != nil {
			log.Error("listing the sandboxes of a node", "node", name, "error", err)
			continue
		}
		listed[name] = make(map[string]yurt.Sandbox, len(sandboxes))
		for _, sandbox := range sandboxes {
			listed[name][sandbox.ID] = sandbox
		}
	}
	return listed
}
