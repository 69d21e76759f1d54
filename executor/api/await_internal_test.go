package api

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// ready is a node that has a sandbox for each caller.
type ready struct {
	Node
	leave     func() // is called while the sandbox is handed over
	destroyed []string
}

func (r *ready) AwaitSandbox(context.Context, yurt.SandboxSpec, string) (yurt.Sandbox, error) {
	r.leave()
	return yurt.Sandbox{ID: "sbx_1"}, nil
}

func (r *ready) DestroySandbox(_ context.Context, id string) error {
	r.destroyed = append(r.destroyed, id)
	return nil
}

// answers is the node's end of the stream of one call.
type answers struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // it is how gRPC hands over a stream's context
	send func() error
}

func (a *answers) Context() context.Context { return a.ctx }

func (a *answers) Send(*proto.AwaitSandboxResponse) error { return a.send() }

// TestStreamOfAwaitEnds: the node destroys the sandbox of a caller that has left before the answer was sent, and leaves it alone when the
// caller ends the stream with the answer in its hands, be it before Send returns.
func TestStreamOfAwaitEnds(t *testing.T) {
	spec, err := wire.Encode(yurt.SandboxSpec{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		early    bool  // the caller leaves before the answer
		late     bool  // the caller ends the stream while Send runs
		sendFail error // of Send
		destroys bool
	}{
		"the caller takes it":                            {},
		"the caller ends the stream before Send returns": {late: true},
		"the caller has left before the answer":          {early: true, destroys: true},
		"the answer could not be sent":                   {sendFail: errors.New("the stream is done"), destroys: true},
		"the answer could not be sent, and it is over":   {late: true, sendFail: context.Canceled, destroys: true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		node := &ready{leave: func() {
			if c.early {
				cancel()
			}
		}}
		stream := &answers{ctx: ctx, send: func() error {
			if c.late {
				cancel()
			}
			return c.sendFail
		}}
		err := (&reserveServer{node: node}).Await(&proto.AwaitSandboxRequest{Spec: spec, SlotId: "a"}, stream)
		if (err != nil) != c.destroys || (len(node.destroyed) == 1) != c.destroys {
			t.Errorf("%s: it destroyed %q, %v; want destroyed: %t", name, node.destroyed, err, c.destroys)
		}
		cancel()
	}
}

// failing is an executor whose stream ends with an error after the answer.
type failing struct {
	proto.UnimplementedReservesServer
	left chan bool // whether the caller ended the stream first
}

func (f *failing) Await(_ *proto.AwaitSandboxRequest, stream grpc.ServerStreamingServer[proto.AwaitSandboxResponse]) error {
	data, err := wire.Encode(yurt.Sandbox{ID: "sbx_1"})
	if err == nil {
		err = stream.Send(&proto.AwaitSandboxResponse{Sandbox: data})
	}
	select {
	case <-stream.Context().Done():
		f.left <- true
	case <-time.After(100 * time.Millisecond): // the executor is busy
		f.left <- false
	}
	return errors.Join(err, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down"))
}

// TestAwaitedAnswerCounts: a sandbox whose answer has arrived is the caller's although the stream ends with an error, and the caller
// does not end the stream before the executor does.
func TestAwaitedAnswerCounts(t *testing.T) {
	node := &failing{left: make(chan bool, 1)}
	server := grpc.NewServer()
	proto.RegisterReservesServer(server, node)
	socket := filepath.Join(t.TempDir(), "sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	client, err := NewUnixClient(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if s, err := client.AwaitSandbox(t.Context(), yurt.SandboxSpec{}, "a"); err != nil || s.ID != "sbx_1" {
		t.Errorf("it got %+v, %v", s, err)
	}
	if <-node.left {
		t.Error("the caller ended the stream before the executor did")
	}
}
