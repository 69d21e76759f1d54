package controller

import (
	"context"

	"github.com/yurtrun/yurt"
)

// Keeper is a [Releaser] that says for which sessions it keeps something.
type Keeper interface {
	Releaser
	// Kept lists the ids of sessions for which something is kept.
	Kept(ctx context.Context) ([]string, error)
}

// judgeKept releases what the placer keeps for sessions that have ended or are not there:
// what a controller left that died while it placed one, or could not release then. A session
// is stored before anything is kept for it, so one that is kept for is not too young to be
// found.
func (c *Controller) judgeKept(ctx context.Context) {
	keeper, ok := c.placer.(Keeper)
	if !ok {
		return
	}
	ids, err := keeper.Kept(ctx)
	if err != nil {
		c.log.Error("listing what is kept for sessions", "error", err)
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
			c.log.Error("judging what is kept for a session", "session", id, "error", err)
			return // the store is away, for the others too
		case !session.State.Ended() || c.isBusy(id):
			continue
		}
		session.Placement.Kind = yurt.PlacementCold // also of one that ended before it was placed
		c.log.Warn("releasing what is kept for no session", "session", id)
		c.releaseKept(ctx, keeper, session)
	}
}

func (c *Controller) releaseKept(ctx context.Context, keeper Keeper, session yurt.Session) {
	work, cancel := detached(ctx, teardownLimit)
	defer cancel()
	if err := keeper.Release(work, session); err != nil {
		c.log.Error("ending what was kept for a session", "session", session.ID, "error", err)
	}
}
