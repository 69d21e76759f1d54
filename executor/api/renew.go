package api

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// renewed is a way to an executor whose connection is replaced by another when the certificates of this side change. Calls under way
// end on the connection that they began on.
type renewed struct {
	dial func() (*grpc.ClientConn, error)

	mu      sync.Mutex
	current *counted
	earlier []*counted // with calls under way; the executor ends each connection within an hour
	closed  bool
}

// counted is a connection with the number of its calls.
type counted struct {
	*grpc.ClientConn
	calls int
}

func newRenewed(dial func() (*grpc.ClientConn, error)) (*renewed, error) {
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	return &renewed{dial: dial, current: &counted{ClientConn: conn}}, nil
}

// renew has later calls use another connection.
func (r *renewed) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	conn, err := r.dial()
	if err != nil { // as of a first dial alone, which had the same arguments
		return
	}
	before := r.current
	r.current = &counted{ClientConn: conn}
	if before.GetState() == connectivity.Ready {
		conn.Connect() // so that no call waits for the handshake
	}
	if before.calls == 0 {
		_ = before.Close() // it has no calls whose outcome an error could change
		return
	}
	r.earlier = append(r.earlier, before)
}

// begin returns the connection for a call, which ends with end.
func (r *renewed) begin() *counted {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.calls++
	return r.current
}

func (r *renewed) end(conn *counted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	conn.calls--
	if at := slices.Index(r.earlier, conn); at >= 0 && conn.calls == 0 {
		r.earlier = slices.Delete(r.earlier, at, at+1)
		_ = conn.Close() // likewise
	}
}

// Close ends the connections and the calls that are under way.
func (r *renewed) Close() error {
	r.mu.Lock()
	conns := append(slices.Clone(r.earlier), r.current)
	r.earlier, r.closed = nil, true
	r.mu.Unlock()
	var failed error
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			failed = err
		}
	}
	return failed
}

// Invoke implements [grpc.ClientConnInterface].
func (r *renewed) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	conn := r.begin()
	defer r.end(conn)
	return conn.Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements [grpc.ClientConnInterface].
func (r *renewed) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	conn := r.begin()
	ended := sync.OnceFunc(func() { r.end(conn) })
	stream, err := conn.NewStream(ctx, desc, method, append(slices.Clip(opts), grpc.OnFinish(func(error) { ended() }))...)
	if err != nil {
		ended()
	}
	return stream, err
}
