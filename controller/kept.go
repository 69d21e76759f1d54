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

// judgeKept releases the placer's resources for sessions that have ended or do not exist: the remains of a controller that died
// while it placed one, or could not release them then. A session is stored before the placer keeps any resource for it, so the
// session of a resource can be found.
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
