package turns

import (
	"context"
	"sync"
)

// Gate lets a few callers through at once. Urgent callers go before the others. Groups of callers take turns. Its methods may be called
// concurrently.
type Gate struct {
	mu     sync.Mutex
	free   int
	queues [2]Line[chan struct{}] // urgent, and not; a close lets the waiter in
}

// NewGate returns a gate that so many callers can be in at once.
func NewGate(size int) *Gate { return &Gate{free: size} }

// Enter waits to be let in. The caller then calls leave, once.
func (g *Gate) Enter(ctx context.Context, group string, hurry bool) (leave func(), err error) {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return g.leave, nil
	}
	queue := &g.queues[1]
	if hurry {
		queue = &g.queues[0]
	}
	turn := make(chan struct{})
	queue.Add(group, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return g.leave, nil
	case <-ctx.Done():
		g.desert(queue, group, turn)
		return nil, ctx.Err()
	}
}

// desert takes a caller that stopped waiting out of the queue, or passes on the turn that it was given meanwhile.
func (g *Gate) desert(queue *Line[chan struct{}], group string, turn chan struct{}) {
	g.mu.Lock()
	removed := queue.Remove(group, turn)
	g.mu.Unlock()
	if !removed {
		g.leave()
	}
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.queues {
		if turn, ok := g.queues[i].Next(); ok {
			close(turn)
			return
		}
	}
	g.free++
}
