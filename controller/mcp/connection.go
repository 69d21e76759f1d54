package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/contract"
)

const (
	headerConnection = "Mcp-Session-Id"
	// metadataConnection is the metadata of a sandbox that run_code made by itself: the connection that it ends with.
	metadataConnection = "mcp_connection"
)

// connectionOf names a connection of a revision before the stateless ones; it is empty without one. The name tells no id, by which
// others could use the connection, and differs for another caller, who must not end it.
func connectionOf(ctx context.Context, id string) string {
	if id == "" {
		return ""
	}
	identity := ""
	if caller, known := access.From(ctx); known {
		identity = caller.Identity()
	}
	sum := sha256.Sum256([]byte(id + "\x00" + identity))
	return hex.EncodeToString(sum[:16])
}

// connections ends the calls under way of a connection.
type connections struct {
	mu     sync.Mutex
	byName map[string]*connection // those with a call under way, or that end
}

type connection struct {
	users int
	ended context.Context // done once the client ends the connection
	end   context.CancelFunc
}

// enter returns the connection of a name. The caller calls leave when it uses the connection no longer.
func (c *connections) enter(name string) (now *connection, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.byName[name]
	if now == nil {
		now = &connection{}
		now.ended, now.end = context.WithCancel(context.Background())
		if c.byName == nil {
			c.byName = map[string]*connection{}
		}
		c.byName[name] = now
	}
	now.users++
	return now, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if now.users--; now.users == 0 {
			now.end()
			delete(c.byName, name)
		}
	}
}

// connected returns the context of a call, which also ends when the client ends the connection of the call.
func (s *Server) connected(ctx context.Context, req *sdk.CallToolRequest) (_ context.Context, done func()) {
	name := connectionOf(ctx, req.Session.ID())
	if name == "" {
		return ctx, func() {}
	}
	now, leave := s.connections.enter(name)
	ctx, stop := also(ctx, now.ended)
	return ctx, func() {
		stop()
		leave()
	}
}

// also returns a context that ends with another one too.
func also(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// disconnecting cancels the calls of a connection that its client ends, for which the library would wait. Then it ends the sandboxes
// that run_code made for the connection. Those that the client made by create_sandbox live on.
func (s *Server) disconnecting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := connectionOf(r.Context(), r.Header.Get(headerConnection))
		if r.Method != http.MethodDelete || name == "" {
			next.ServeHTTP(w, r)
			return
		}
		now, leave := s.connections.enter(name)
		defer leave() // calls that begin until then end at once
		now.end()
		next.ServeHTTP(w, r)
		// The answer does not wait for the sandboxes. Where it cannot be flushed it is sent after them.
		_ = http.NewResponseController(w).Flush()
		s.endSandboxes(r, name)
	})
}

// endSandboxes ends the sandboxes of a connection that its client has ended by a request.
func (s *Server) endSandboxes(r *http.Request, connection string) {
	done, err := s.begin()
	if err != nil {
		return // the server stops, and ends or keeps its sandboxes itself
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), endLimit)
	defer cancel()
	found, err := s.config.Sessions.Sessions(ctx, contract.SessionQuery{Live: true, Metadata: map[string]string{metadataConnection: connection}})
	if err != nil && yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		s.log.WarnContext(ctx, "the sandboxes of an MCP connection that ended were not found; they end when they are idle for too long", "error", err)
	}
	for _, session := range found {
		s.end(ctx, session.ID)
		e := audit.Describe(r, operationPrefix+terminateSandbox().name, r.Header.Get("X-Request-Id"))
		e.SessionID, e.Decision, e.Status = session.ID, audit.Allowed, http.StatusNoContent
		s.config.Audit.Note(e)
	}
}
