package identity

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
	"time"
)

// Grace is how long a connection stays open after its part has ceased to trust the other side. The calls under way may end in that time,
// and a controller may move to a new connection.
const Grace = 30 * time.Second

// Connections are the open connections of a part. Each ends when the other side is trusted no longer since the authorities were
// replaced.
type Connections struct {
	source *Source
	usage  x509.ExtKeyUsage // of the other side's certificate
	grace  time.Duration
	forget func()

	mu   sync.Mutex
	open map[*connection]struct{}
}

// connection is one that a handshake has made.
type connection struct {
	net.Conn
	all    *Connections
	state  tls.ConnectionState
	ending *time.Timer // closes it; nil while the other side is trusted
}

// Connections returns an empty set for connections to parts of a role. The set is judged after each change that [Source.Run] tells of, until
// it is closed.
func (s *Source) Connections(peers Role, grace time.Duration) *Connections {
	c := &Connections{source: s, usage: usageOf(peers), grace: grace, open: map[*connection]struct{}{}}
	c.forget = s.Watch(c.judge)
	return c
}

// Add adds a connection of that state. The caller uses the one that is returned, and closes it.
func (c *Connections) Add(conn net.Conn, state tls.ConnectionState) net.Conn {
	added := &connection{Conn: conn, all: c, state: state}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[added] = struct{}{}
	c.judgeOne(added) // since the files may have changed during the handshake
	return added
}

// Close leaves the connections as they are, and judges them no longer.
func (c *Connections) Close() {
	c.forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		conn.spare()
	}
	clear(c.open)
}

// judge has the connections end whose other side is not trusted.
func (c *Connections) judge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		c.judgeOne(conn)
	}
}

func (c *Connections) judgeOne(conn *connection) {
	if err := c.source.trusts(conn.state, c.usage); err == nil {
		conn.spare()
	} else if conn.ending == nil {
		remote := conn.RemoteAddr().String()
		c.source.logger.Warn("a connection ends, since its other side is not trusted any more", "remote", remote, "in", c.grace.String(), "error", err)
		conn.ending = time.AfterFunc(c.grace, func() { _ = conn.Close() }) // its user sees the end
	}
}

// spare lets the connection go on.
func (c *connection) spare() {
	if c.ending != nil {
		c.ending.Stop()
		c.ending = nil
	}
}

// Close closes the connection.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.spare()
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// trusts returns an error unless the other side of a connection would be trusted if it came now.
func (s *Source) trusts(state tls.ConnectionState, usage x509.ExtKeyUsage) error {
	s.mu.Lock()
	roots := s.in.roots
	s.mu.Unlock()
	_, err := verify(state, roots, usage, s.now())
	return err
}

// usageOf returns the usage of the certificates of a role: executors serve, and controllers call.
func usageOf(role Role) x509.ExtKeyUsage {
	if role == RoleExecutor {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}
