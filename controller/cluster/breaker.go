package cluster

import "time"

// A node whose calls fail is left alone for restLeast, then for twice as long each time
// that it fails again, up to restMost.
const (
	restLeast = 250 * time.Millisecond
	restMost  = 30 * time.Second
)

// breaker takes nodes out of rotation whose calls fail. After its rest a node is given
// one call to show that it is well; the others go elsewhere until that call is over. It
// is not safe for concurrent use.
type breaker struct {
	nodes  map[string]*health
	jitter func() float64 // in [0, 1)
}

type health struct {
	failures int // in a row
	until    time.Time
	trial    bool // the one call is under way
}

func newBreaker(jitter func() float64) *breaker {
	return &breaker{nodes: map[string]*health{}, jitter: jitter}
}

// allows reports whether the node may be called now.
func (b *breaker) allows(node string, now time.Time) bool {
	h := b.nodes[node]
	return h == nil || !h.trial && !now.Before(h.until)
}

// begin notes a call to a node that is allowed.
func (b *breaker) begin(node string) {
	if h := b.nodes[node]; h != nil {
		h.trial = true
	}
}

// leave notes that a call ended with its caller. The state of the node is as unknown as before.
func (b *breaker) leave(node string) {
	if h := b.nodes[node]; h != nil {
		h.trial = false
	}
}

// end notes how a call to the node ended.
func (b *breaker) end(node string, failed bool, now time.Time) {
	if !failed {
		delete(b.nodes, node)
		return
	}
	h := b.nodes[node]
	switch {
	case h == nil:
		h = &health{}
		b.nodes[node] = h
	case !h.trial && now.Before(h.until):
		return // it began before the node was taken out; it is known that it fails
	}
	rest := min(restLeast<<min(h.failures, 10), restMost)
	h.failures++
	h.trial = false
	h.until = now.Add(rest - time.Duration(float64(rest)/4*b.jitter()))
}

// open returns how many nodes are out of rotation.
func (b *breaker) open(now time.Time) int {
	out := 0
	for _, h := range b.nodes {
		if h.trial || now.Before(h.until) {
			out++
		}
	}
	return out
}
