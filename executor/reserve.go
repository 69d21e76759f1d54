package executor

import (
	"context"

	"github.com/yurtrun/yurt"
)

// ReserveSandbox makes a sandbox of the template that nobody owns yet, with the limits
// that the template gives. The next [Executor.ClaimSandbox] gets it, once.
func (e *Executor) ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error) {
	if err := e.installAhead(ctx, template); err != nil {
		return yurt.Sandbox{}, err
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources())}
	return e.make(ctx, spec, purpose{warm: true})
}

// Reserves says what can be claimed of what [Executor.ReserveSandbox] made; what is in
// slots, [Executor.Slots] says.
func (e *Executor) Reserves(context.Context) ([]yurt.Reserve, error) {
	list := []yurt.Reserve{}
	for _, s := range e.reserves.List() {
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
// [Executor.ReserveSandbox] made and nobody has claimed, if there is any.
func (e *Executor) ReleaseReserve(ctx context.Context, digest string) error {
	s := e.reserves.Take(digest, func(s *handle) bool { return s.slot == nil })
	if s == nil {
		return nil
	}
	return e.DestroySandbox(ctx, s.ID())
}
