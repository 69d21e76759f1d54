package fleet

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// teardownLimit is how long a node may take to destroy a sandbox, and a placer to release a slot.
const teardownLimit = time.Minute

// releaseLeakedSlots releases the slots of sessions that have ended or do not exist. A controller leaks them when it dies while it
// places a session, or cannot release its slot at the end. A session is stored before its slot is made, so the session of a slot
// can be found.
func (k *Keeper) releaseLeakedSlots(ctx context.Context) {
	ids, err := k.placer.HeldSlots(ctx)
	if err != nil {
		k.life.Log.Error("listing the slots of sessions", "error", err)
		return
	}
	for _, id := range ids {
		session, err := k.store.Session(ctx, id)
		switch {
		case yurt.CodeOf(err) == yurt.CodeSessionNotFound && !k.orphans.mayDestroy():
			continue // its sandbox may be one that is held
		case yurt.CodeOf(err) == yurt.CodeSessionNotFound:
			session = yurt.Session{ID: id, Placement: yurt.Placement{Kind: yurt.PlacementCold}}
		case err != nil:
			k.life.Log.Error("finding the session of a slot", "session", id, "error", err)
			return // the store is away, for the others too
		case !session.State.Ended() || k.sessions.Placing(id) || k.executions.Busy(id):
			continue
		}
		session.Placement.Kind = yurt.PlacementCold // also of one that ended before it was placed
		k.life.Log.Warn("releasing a leaked slot", "session", id)
		k.releaseSlot(ctx, session)
	}
}

func (k *Keeper) releaseSlot(ctx context.Context, session yurt.Session) {
	work, cancel := life.Detached(ctx, teardownLimit)
	defer cancel()
	if err := k.placer.Release(work, session); err != nil {
		k.life.Log.Error("releasing the slot of a session", "session", session.ID, "error", err)
	}
}
