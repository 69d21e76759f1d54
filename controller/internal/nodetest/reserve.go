package nodetest

import (
	"context"
	"maps"
	"slices"

	"github.com/yurtrun/yurt"
)

// ReserveSandbox implements local.Executor.
func (n *Node) ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error) {
	made, err := n.CreateSandbox(ctx, yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template})
	if err != nil {
		return yurt.Sandbox{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.sandboxes[made.ID]
	s.info.Warm = true
	return s.info, nil
}

// ClaimSandbox implements local.Executor.
func (n *Node) ClaimSandbox(_ context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(n.sandboxes)) {
		s := n.sandboxes[id]
		if s.info.Warm && s.spec.Template.Digest() == spec.Template.Digest() {
			s.spec = spec
			s.receive(spec.Files)
			s.info.Warm, s.info.Labels = false, spec.Labels
			return s.info, true, nil
		}
	}
	return yurt.Sandbox{}, false, nil
}

// Reserves implements local.Executor.
func (n *Node) Reserves(context.Context) ([]yurt.Reserve, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ready := map[string]int{}
	for _, s := range n.sandboxes {
		if s.info.Warm {
			ready[s.spec.Template.Digest()]++
		}
	}
	list := make([]yurt.Reserve, 0, len(ready))
	for _, digest := range slices.Sorted(maps.Keys(ready)) {
		list = append(list, yurt.Reserve{Digest: digest, Ready: ready[digest]})
	}
	return list, nil
}

// ReleaseReserve implements local.Executor.
func (n *Node) ReleaseReserve(ctx context.Context, digest string) error {
	n.mu.Lock()
	var found string
	for id, s := range n.sandboxes {
		if s.info.Warm && s.spec.Template.Digest() == digest {
			found = id
		}
	}
	n.mu.Unlock()
	return n.DestroySandbox(ctx, found)
}
