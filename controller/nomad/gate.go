package nomad

import (
	"context"
	"sync"
)

// gate lets a few callers through at once. Urgent callers go before the others, each in the order in which they came.
type gate struct {
	mu     sync.Mutex
	free   int
	queues [2][]chan struct{} // urgent, and not; a close lets the waiter in
}

func newGate(size int) *gate { return &gate{free: size} }

// enter waits to be let in. The caller then calls leave, once.
func (g *gate) enter(ctx context.Context, hurry bool) (leave func(), err error) {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return g.leave, nil
	}
	queue := 1
	if hurry {
		queue = 0
	}
	turn := make(chan struct{})
	g.queues[queue] = append(g.queues[queue], turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return g.leave, nil
	case <-ctx.Done():
		g.desert(queue, turn)
		return nil, ctx.Err()
	}
}

// desert takes a caller that stopped waiting out of the queue, or passes on the turn that it was given meanwhile.
func (g *gate) desert(queue int, turn chan struct{}) {
	g.mu.Lock()
	for i, one := range g.queues[queue] {
		if one == turn {
			g.queues[queue] = append(g.queues[queue][:i], g.queues[queue][i+1:]...)
			g.mu.Unlock()
			return
		}
	}
	g.mu.Unlock()
	g.leave()
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, queue := range g.queues {
		if len(queue) > 0 {
			close(queue[0])
			g.queues[i] = queue[1:]
			return
		}
	}
	g.free++
}
