package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// metadataClient is the metadata of a session by which the sandboxes of a client are found. It is in
// the store, so that every controller counts the same sandboxes.
const metadataClient = "mcp_client"

const maxClientName = 128 // bytes

// clients counts the calls that each client has under way.
type clients struct {
	mu     sync.Mutex
	limits Limits
	byName map[string]*client // those with something under way
}

// Limit changes the limits of each client. What a client has beyond them stays.
func (s *Server) Limit(change func(*Limits)) {
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	change(&s.clients.limits)
}

// sandboxes is how many a client may have.
func (c *clients) sandboxes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits.Sandboxes
}

// client is the use that one client makes of the server.
type client struct{ calls, creating int }

// clientOf names the client of a request.
func clientOf(req *sdk.CallToolRequest) string {
	name, peer := "unnamed", "stdio"
	if info := req.ClientInfo(); info != nil && info.Name != "" {
		name = info.Name
	}
	if req.Extra != nil && req.Extra.Header.Get(headerPeer) != "" {
		peer = req.Extra.Header.Get(headerPeer)
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	return strings.ToValidUTF8(name[:min(len(name), maxClientName)], "") + "@" + peer
}

// enter counts a call of a client, which calls leave at its end.
func (c *clients) enter(name string) (leave func(), err error) {
	return c.count(name, func(now *client) error {
		if c.limits.Calls > 0 && now.calls >= c.limits.Calls {
			return yurt.Errorf(yurt.CodeOverloaded, "this client has %d calls under way, and may have no more at once; wait for one to end", now.calls)
		}
		now.calls++
		return nil
	}, func(now *client) { now.calls-- })
}

// reserve makes sure that a client may have one more sandbox. The caller calls done once the sandbox is
// among the sessions, or cannot be made.
func (c *clients) reserve(ctx context.Context, sessions Sessions, name string) (done func(), err error) {
	most := c.sandboxes()
	if most == 0 {
		return func() {}, nil
	}
	var creating int
	done, err = c.count(name, func(now *client) error {
		now.creating++
		creating = now.creating
		return nil
	}, func(now *client) { now.creating-- })
	if err != nil {
		return nil, err
	}
	live, err := sessions.Sessions(ctx, contract.SessionQuery{Live: true, Metadata: map[string]string{metadataClient: name}})
	live = slices.DeleteFunc(live, func(s yurt.Session) bool { return s.State == yurt.SessionCreating }) // counted already
	if err == nil && len(live)+creating > most {
		err = yurt.Errorf(yurt.CodeOverloaded, "this client has %d sandboxes, and may have no more; end one with terminate_sandbox", len(live))
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// count changes the use of a client, and returns a function that takes the change back.
func (c *clients) count(name string, change func(*client) error, undo func(*client)) (func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.byName[name]
	if now == nil {
		now = &client{}
	}
	if err := change(now); err != nil {
		return nil, err
	}
	if c.byName == nil {
		c.byName = map[string]*client{}
	}
	c.byName[name] = now
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if undo(now); *now == (client{}) {
			delete(c.byName, name)
		}
	}, nil
}
