package node

import (
	"context"

	"github.com/yurtrun/yurt"
)

// ReserveSandbox makes a sandbox of the template that nobody owns yet, with the limits
// that the template gives. The next [Node.ClaimSandbox] gets it, once.
func (n *Node) ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error) {
	if err := n.installAhead(ctx, template); err != nil {
		return yurt.Sandbox{}, err
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources())}
	return n.make(ctx, spec, purpose{warm: true})
}

// Reserves says what can be claimed of what [Node.ReserveSandbox] made; what is in
// slots, [Node.Slots] says.
func (n *Node) Reserves(context.Context) ([]yurt.Reserve, error) {
	list := []yurt.Reserve{}
	for _, s := range n.reserves.List() {
		switch last := len(list) - 1; {
		case s.slot != nil:
		case last >= 0 && list[last].Digest == s.Digest():
			list[last].Ready++
		default:
			list = append(list, yurt.Reserve{Template: s.Template, Digest: s.Digest(), Ready: 1})
		}
	}
	return list, nil
}

// ReleaseReserve destroys one sandbox of the template with the digest that
// [Node.ReserveSandbox] made and nobody has claimed, if there is any.
func (n *Node) ReleaseReserve(ctx context.Context, digest string) error {
	s := n.reserves.Take(digest, func(s *Handle) bool { return s.slot == nil })
	if s == nil {
		return nil
	}
	return n.DestroySandbox(ctx, s.ID())
}
