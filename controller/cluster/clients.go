package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// lostAfter is how long a node may be missing from a view that is up to date before it
// counts as lost, and with it the sessions on it. An executor that is started again, or
// that Consul was away from, is back sooner.
const lostAfter = 4 * time.Second

// clients keeps a connection to each node that is used.
type clients struct {
	view View
	dial Dial

	mu      sync.Mutex
	closed  bool
	open    map[string]connection
	missing map[string]time.Time // nodes that the view did not have, since when
}

type connection struct {
	Client
	address string
}

func newClients(view View, dial Dial) *clients {
	return &clients{view: view, dial: dial, open: map[string]connection{}, missing: map[string]time.Time{}}
}

// get returns the client of a node. One that the view does not have just now is reached
// where it was last.
func (c *clients) get(name string) (Client, error) {
	state, there := c.view.Node(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down")
	}
	known, connected := c.open[name]
	if !there {
		return c.getMissing(name, known, connected)
	}
	delete(c.missing, name)
	if connected && known.address == state.Address {
		return known.Client, nil
	}
	client, err := c.dial(name, state.Address)
	if err != nil {
		return nil, err
	}
	if connected {
		_ = known.Close() // nobody answers there any more
	}
	c.open[name] = connection{client, state.Address}
	return client, nil
}

// getMissing decides about a node that the view does not have. The lock is held.
func (c *clients) getMissing(name string, known connection, connected bool) (Client, error) {
	live, since, _ := c.view.Status()
	now := time.Now()
	first, noted := c.missing[name]
	if !noted || !live {
		first = now
		c.missing[name] = first
	}
	if live && now.Sub(first) >= lostAfter && now.Sub(since) >= lostAfter {
		if connected {
			_ = known.Close() // nobody answers there any more
			delete(c.open, name)
		}
		return nil, yurt.Errorf(yurt.CodeNotFound, "node %s is lost: it has not announced itself for %s", name, now.Sub(first).Round(time.Second))
	}
	if connected {
		return known.Client, nil
	}
	return nil, yurt.Errorf(yurt.CodeUnavailable, "node %s does not announce itself", name)
}

func (c *clients) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var failures []error
	for _, client := range c.open {
		failures = append(failures, client.Close())
	}
	return errors.Join(failures...)
}
