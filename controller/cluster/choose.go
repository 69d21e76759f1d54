package cluster

import (
	"math/rand/v2"
	"slices"
	"time"
)

// probes is how often a node is drawn at random before all are looked through.
const probes = 12

// chooser picks the node to ask for a warm sandbox: of two nodes drawn at random among those with warm sandboxes, the one with
// more, after subtracting the claims of this controller. Two choices spread the load nearly as well as full knowledge, and
// unlike "the one with the most" they do not send every controller to the same node. It is not safe for concurrent use.
type chooser struct {
	ledger  *ledger
	breaker *breaker
	random  *rand.Rand
}

func newChooser(random *rand.Rand) *chooser {
	return &chooser{ledger: newLedger(), breaker: newBreaker(random.Float64), random: random}
}

// attempt is one claim at one node.
type attempt struct{ shelf }

// choose returns the node to ask for a sandbox of the template, and counts it as taken
// until [chooser.done]. It prefers those named, in their order, and leaves out those to
// skip. It reports false when no node is known to have one.
func (c *chooser) choose(nodes []NodeState, digest string, prefer, skip []string, now time.Time) (attempt, bool) {
	name, ok := c.preferred(nodes, digest, prefer, skip, now)
	if !ok {
		name, ok = c.better(nodes, digest, skip, now)
	}
	if !ok {
		name, ok = c.last(nodes, digest, skip, now)
	}
	if !ok {
		return attempt{}, false
	}
	at := shelf{name, digest}
	c.ledger.begin(at, now)
	c.breaker.begin(name)
	return attempt{at}, true
}

// done says how an attempt ended.
func (c *chooser) done(a attempt, how outcome, now time.Time) {
	c.ledger.end(a.shelf, how, now)
	if how == claimLeft {
		c.breaker.leave(a.node)
		return
	}
	c.breaker.end(a.node, how == claimFailed, now)
}

// free returns how many sandboxes of the template may be had at the node.
func (c *chooser) free(node *NodeState, digest string, skip []string, now time.Time) int {
	shown := c.shown(node, digest, skip, now)
	if shown == 0 {
		return 0
	}
	return c.ledger.free(shelf{node.Name, digest}, shown, now)
}

// shown returns how many the view shows, at a node that can be asked.
func (c *chooser) shown(node *NodeState, digest string, skip []string, now time.Time) int {
	shown := node.Warm[digest]
	if shown <= 0 || !node.Healthy || node.Draining || slices.Contains(skip, node.Name) || !c.breaker.allows(node.Name, now) {
		return 0
	}
	return shown
}

// last returns a node of which the view shows more than was refused, though this controller has claimed all of it. The view may be
// newer than those claims; asking costs a hundredth of a cold start.
func (c *chooser) last(nodes []NodeState, digest string, skip []string, now time.Time) (name string, ok bool) {
	found := 0
	for i := range nodes {
		node := &nodes[i]
		if c.shown(node, digest, skip, now) == 0 || c.ledger.wasRefused(shelf{node.Name, digest}, now) {
			continue
		}
		found++
		if c.random.IntN(found) == 0 {
			name = node.Name
		}
	}
	return name, found > 0
}

func (c *chooser) preferred(nodes []NodeState, digest string, prefer, skip []string, now time.Time) (string, bool) {
	for _, name := range prefer {
		for i := range nodes {
			if nodes[i].Name == name && c.free(&nodes[i], digest, skip, now) > 0 {
				return name, true
			}
		}
	}
	return "", false
}

// better draws two nodes that have any and returns the one with more.
func (c *chooser) better(nodes []NodeState, digest string, skip []string, now time.Time) (string, bool) {
	var (
		best     *NodeState
		bestFree int
	)
	consider := func(node *NodeState, free int) {
		if best == nil || free > bestFree {
			best, bestFree = node, free
		}
	}
	drawn := 0
	for range min(probes, len(nodes)) {
		node := &nodes[c.random.IntN(len(nodes))]
		if free := c.free(node, digest, skip, now); free > 0 && node != best {
			consider(node, free)
			if drawn++; drawn == 2 {
				return best.Name, true
			}
		}
	}
	// Few have any: look through all, keeping two of those at random.
	var pair [2]*NodeState
	found := 0
	for i := range nodes {
		if c.free(&nodes[i], digest, skip, now) <= 0 {
			continue
		}
		if found < len(pair) {
			pair[found] = &nodes[i]
		} else if k := c.random.IntN(found + 1); k < len(pair) {
			pair[k] = &nodes[i]
		}
		found++
	}
	for _, node := range pair[:min(found, len(pair))] {
		consider(node, c.free(node, digest, skip, now))
	}
	if best == nil {
		return "", false
	}
	return best.Name, true
}
