package controller_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

// moving is a placer whose node is reached by a connection that is given up when the node
// moves. Calls on the old one fail, however often they are made.
type moving struct {
	contract.Placer
	mu   sync.Mutex
	open *connection
}

func (m *moving) Node(ctx context.Context, name string) (contract.Node, error) {
	node, err := m.Placer.Node(ctx, name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = &connection{Node: node}
		m.open.ctx, m.open.close = context.WithCancel(context.Background())
	}
	return m.open, nil
}

func (m *moving) move() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open.close()
	m.open = nil
}

type connection struct {
	contract.Node
	ctx   context.Context //nolint:containedctx // the test is about its end
	close func()
}

// call runs do under the connection's context, and returns the connection's error if it ended.
func (c *connection) call(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	err := do(ctx)
	if c.ctx.Err() != nil {
		return yurt.Errorf(yurt.CodeCanceled, "the connection is closing")
	}
	return err
}

// RunExecution implements contract.Node: its answer comes by the connection too.
func (c *connection) RunExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) (func(context.Context) (*yurt.Result, error), error) {
	_, err := c.Node.RunExecution(ctx, sandboxID, spec)
	return func(ctx context.Context) (*yurt.Result, error) { return c.AwaitExecution(ctx, sandboxID, spec.ID) }, err
}

func (c *connection) AwaitExecution(ctx context.Context, sandboxID, id string) (result *yurt.Result, _ error) {
	return result, c.call(ctx, func(ctx context.Context) (err error) {
		result, err = c.Node.AwaitExecution(ctx, sandboxID, id)
		return err
	})
}

func (c *connection) WatchExecution(ctx context.Context, sandboxID, id string, after uint64, each func(yurt.Event) error) error {
	return c.call(ctx, func(ctx context.Context) error { return c.Node.WatchExecution(ctx, sandboxID, id, after, each) })
}

// TestNodeMoves: a follower or a watcher of an execution goes on at the node's new address.
func TestNodeMoves(t *testing.T) {
	var placer *moving
	w := testWorld(t, func(c *controller.Config) {
		placer = &moving{Placer: c.Placer}
		c.Placer = placer
	})
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "echo one read block")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen strings.Builder
	var last uint64
	err := w.WatchExecution(ctx, s.ID, e.ID, 0, func(event yurt.Event) error {
		if event.Seq != last+1 {
			t.Errorf("event %d follows %d", event.Seq, last)
		}
		last = event.Seq
		seen.Write(event.Data)
		switch {
		case event.Type == yurt.EventStdout && seen.String() == "one\n":
			placer.move()
			return w.WriteStdin(ctx, s.ID, e.ID, []byte("two"), false)
		case event.Type == yurt.EventStdout: // which it must see while the execution runs
			w.node.Release()
		}
		return nil
	})
	if err != nil || seen.String() != "one\ntwo" {
		t.Errorf("watched %q, %v", seen.String(), err)
	}
	w.node.Release()
	if got := w.wait(e); got.Result.Stdout != "one\ntwo" || got.Result.Error != nil {
		t.Errorf("the result is %+v, %+v", got.Result, got.Result.Error)
	}
}
