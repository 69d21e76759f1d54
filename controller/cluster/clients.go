package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// lostAfter is how long a view must be up to date before a node that it lacks counts as lost, with the sessions on it: nodes
// announce themselves again after the source of the view was away. The view itself says how long a node may be silent.
const lostAfter = 10 * time.Second

// clients keeps a connection to each node that is used.
type clients struct {
	view View
	dial Dial

	mu     sync.Mutex
	closed bool
	open   map[string]connection
}

type connection struct {
	Client
	address string
}

func newClients(view View, dial Dial) *clients {
	return &clients{view: view, dial: dial, open: map[string]connection{}}
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
	if connected && known.address == state.Address {
		return known.Client, nil
	}
	client, err := c.dial(name, state.Address)
	if err != nil {
		return nil, err
	}
	if connected {
		_ = known.Close() // no executor answers there any more
	}
	c.open[name] = connection{client, state.Address}
	return client, nil
}

// getMissing decides about a node that the view does not have. The lock is held.
func (c *clients) getMissing(name string, known connection, connected bool) (Client, error) {
	if c.viewIsSettled() {
		if connected {
			_ = known.Close() // no executor answers there any more
			delete(c.open, name)
		}
		return nil, yurt.Errorf(yurt.CodeNotFound, "node %s is lost: it does not announce itself any more", name)
	}
	if connected {
		return known.Client, nil
	}
	return nil, yurt.Errorf(yurt.CodeUnavailable, "node %s does not announce itself", name)
}

// lost reports whether a node of that name is lost: the view does not have it, and has been up
// to date for long enough to have heard of it.
func (c *clients) lost(name string) bool {
	_, there := c.view.Node(name)
	return !there && c.viewIsSettled()
}

func (c *clients) viewIsSettled() bool {
	live, since, _ := c.view.Status()
	return live && time.Since(since) >= lostAfter
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
