package cluster

import (
	"context"
	"sync"
	"time"
)

// askEvery is how often the engine is asked about a slot that is waited for. A slot that starts well is there sooner.
const askEvery = 2 * time.Second

// Teller is an [Engine] that can say on which node a slot of its own is, or that the slot is gone. The node may not be able to: the
// driver that starts slots there may have failed before.
type Teller interface {
	// Where returns the node that the slot is on, or is about to be on, "" while that is
	// unclear; and an error once the slot has failed, which says why.
	Where(ctx context.Context, slotID string) (node string, err error)
}

// waitFor has wait look for a slot at the node where the engine placed it, and returns that
// node. The engine may lose a node before it has begun the slot there, and move the slot: wait
// is called again then, with the next node. That the engine says that the slot has failed ends
// the wait with that error.
func (p *Placer) waitFor(ctx context.Context, slotID, node string, wait func(ctx context.Context, node string) error) (at string, err error) {
	teller, ok := p.engine.(Teller)
	if !ok {
		return node, wait(ctx, node)
	}
	for {
		moved, err := unlessMoved(ctx, teller, slotID, node, wait)
		if moved == "" {
			return node, err
		}
		p.log.Warn("the engine moved a slot before it began", "slot", slotID, "from", node, "to", moved)
		node = moved
	}
}

// unlessMoved waits for a slot at one node, and returns another node if the engine has moved
// the slot there meanwhile.
func unlessMoved(ctx context.Context, teller Teller, slotID, node string, wait func(ctx context.Context, node string) error) (moved string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		asking sync.WaitGroup
		failed error
	)
	asking.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for failed == nil && moved == "" {
			select {
			case <-tick.C:
				var at string
				if at, failed = teller.Where(ctx, slotID); at != node {
					moved = at
				}
			case <-ctx.Done():
				return
			}
		}
		cancel()
	})
	err = wait(ctx, node)
	cancel()
	asking.Wait()
	switch {
	case err == nil:
		return "", nil
	case failed != nil:
		return "", failed
	default:
		return moved, err
	}
}
