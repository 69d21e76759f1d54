package cluster

import (
	"context"
	"sync"
	"time"
)

// askEvery is how often the engine is asked about a slot that is waited for. What goes well
// is over before that.
const askEvery = 2 * time.Second

// Teller is an [Engine] that can say of a slot which it has started that nothing will come of
// it, or that it is gone. The node may not be able to: what starts slots there may have failed before it.
type Teller interface {
	// Failed returns why the slot has failed, and nil while it has not or that is unclear.
	Failed(ctx context.Context, slotID string) error
}

// unlessFailed waits for a slot, until the engine says that it has failed: that is the
// error then.
func (p *Placer) unlessFailed(ctx context.Context, slotID string, wait func(ctx context.Context) error) error {
	teller, ok := p.engine.(Teller)
	if !ok {
		return wait(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		asking sync.WaitGroup
		failed error
	)
	asking.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for failed == nil {
			select {
			case <-tick.C:
				failed = teller.Failed(ctx, slotID)
			case <-ctx.Done():
				return
			}
		}
		cancel()
	})
	err := wait(ctx)
	cancel()
	asking.Wait()
	if err != nil && failed != nil {
		return failed
	}
	return err
}
