package node

import (
	"context"
	"fmt"

	"github.com/yurtrun/yurt"
)

// RetireSlots ends up to so many slots of the template with the digest that are anybody's
// and whose sandbox nobody has claimed, and returns their ids. A claim gets a sandbox or the
// slot is ended, never both. What a session has, or waits for, is left alone.
func (n *Node) RetireSlots(ctx context.Context, digest string, most int) ([]string, error) {
	var ids []string
	for len(ids) < most && ctx.Err() == nil {
		s := n.reserves.Take(digest, func(s *Handle) bool { return s.slot != nil && s.slot.Spec.For == "" })
		if s == nil {
			break
		}
		sl := s.slot
		n.slots.End(sl, "it was not needed any more", false)
		ids = append(ids, sl.Spec.ID)
		if err := n.DestroySandbox(context.WithoutCancel(ctx), s.ID()); err != nil {
			return ids, yurt.Errorf(yurt.CodeInternal, "ending slot %s: %w", sl.Spec.ID, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return ids, fmt.Errorf("ending slots that nobody needs: %w", err)
	}
	return ids, nil
}
