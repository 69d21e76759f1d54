package controller

import (
	"context"

	"github.com/yurtrun/yurt"
)

// SlotHolder is a [Releaser] that lists the sessions for which it holds slots.
type SlotHolder interface {
	Releaser
	// HeldSlots lists the ids of sessions for which a slot is held.
	HeldSlots(ctx context.Context) ([]string, error)
}

// releaseLeakedSlots releases the slots of sessions that have ended or do not exist: the remains of a controller that died
// while it placed one, or could not release them then. A session is stored before the placer holds a slot for it, so the
// session of a slot can be found.
func (c *Controller) releaseLeakedSlots(ctx context.Context) {
	holder, ok := c.placer.(SlotHolder)
	if !ok {
		return
	}
	ids, err := holder.HeldSlots(ctx)
	if err != nil {
		c.log.Error("listing the slots that are held for sessions", "error", err)
		return
	}
	for _, id := range ids {
		session, err := c.store.Session(ctx, id)
		switch {
		case yurt.CodeOf(err) == yurt.CodeSessionNotFound && !c.orphans.mayDestroy():
			continue // its sandbox may be one that is held
		case yurt.CodeOf(err) == yurt.CodeSessionNotFound:
			session = yurt.Session{ID: id, Placement: yurt.Placement{Kind: yurt.PlacementCold}}
		case err != nil:
			c.log.Error("looking up the session of a slot", "session", id, "error", err)
			return // the store is away, for the others too
		case !session.State.Ended() || c.isBusy(id):
			continue
		}
		session.Placement.Kind = yurt.PlacementCold // also of one that ended before it was placed
		c.log.Warn("releasing a leaked slot", "session", id)
		c.releaseSlots(ctx, holder, session)
	}
}

func (c *Controller) releaseSlots(ctx context.Context, holder SlotHolder, session yurt.Session) {
	work, cancel := detached(ctx, teardownLimit)
	defer cancel()
	if err := holder.Release(work, session); err != nil {
		c.log.Error("ending what was kept for a session", "session", session.ID, "error", err)
	}
}
