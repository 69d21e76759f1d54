package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// preferredNodes bounds how many nodes an order names: the engine weighs each.
const preferredNodes = 5

// coldTries bounds how many nodes are tried that turn out to be drained, or cannot make the
// sandbox.
const coldTries = 3

// coldsFirst is how long cold starts hold up refills.
const coldsFirst = 2 * time.Second

// colds counts the sessions that wait for a cold start. The zero value is ready for use.
type colds struct {
	mu      sync.Mutex
	waiting int
	since   time.Time // that any wait
}

func (c *colds) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.since = time.Now()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}
}

// hold reports whether pools are to be left as they are: the engine and the nodes are to
// work for the sessions that wait. Where some always do, pools must grow all the same.
func (c *colds) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting > 0 && time.Since(c.since) < coldsFirst
}

// coldStart has the engine start a slot for this session alone, and claims its sandbox, so that the session's private data goes
// to the node alone. The session's id is the slot's name, so that any controller that ends the session can end the slot. Where a
// node cannot make the sandbox, another one is asked.
func (p *Placer) coldStart(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints, trace *trace) (yurt.Sandbox, error) {
	defer p.colds.begin()()
	slot := spec.Labels[yurt.SessionLabel]
	if slot == "" {
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeInternal, "a sandbox without a session cannot be started")
	}
	order := Order{
		SlotID: slot, Template: spec.Template, Resources: spec.Resources, Share: spec.Share, SessionID: slot, Once: true,
		Prefer: p.preferences(spec.Template.Digest(), hints),
	}
	var failed *nodeError
	for range coldTries {
		sandbox, err := p.startOnce(ctx, order, spec, trace)
		if err == nil {
			return sandbox, nil
		}
		before := failed
		if !errors.As(err, &failed) {
			if before != nil { // there is no other node, which tells less
				err = before
			}
			return yurt.Sandbox{}, err
		}
		p.log.Warn("a node did not make a sandbox, another one is asked", "node", failed.node, "slot", slot, "error", err)
		order.Avoid = append(order.Avoid, failed.node)
	}
	return yurt.Sandbox{}, failed
}

// nodeError is the error of a slot that has been stopped again since its node could make no
// sandbox in it: another node may.
type nodeError struct {
	node string
	err  error
}

func (e *nodeError) Error() string {
	return fmt.Sprintf("waiting for the sandbox that was placed on node %s: %v", e.node, e.err)
}

func (e *nodeError) Unwrap() error { return e.err }

// startOnce starts the slot and claims its sandbox. After an error no slot is left behind,
// or is about to be removed.
func (p *Placer) startOnce(ctx context.Context, order Order, spec yurt.SandboxSpec, trace *trace) (yurt.Sandbox, error) {
	node, err := p.start(ctx, order)
	trace.mark("place")
	p.metrics.started(err)
	if err != nil {
		return yurt.Sandbox{}, err
	}
	limited, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	var sandbox yurt.Sandbox
	node, err = p.waitFor(limited, order.SlotID, node, func(ctx context.Context, node string) (err error) {
		sandbox, err = p.await(ctx, node, order.SlotID, spec)
		return err
	})
	trace.mark("await")
	if err == nil {
		sandbox.Node = node
		return sandbox, nil
	}
	if p.elsewhere(limited, node, err) {
		// At once: it is about to be started again under the same name.
		if stopErr := p.engine.Stop(ctx, order.SlotID); stopErr == nil {
			return yurt.Sandbox{}, &nodeError{node, err}
		}
	}
	p.stopSlot(order.SlotID)
	return yurt.Sandbox{}, fmt.Errorf("waiting for the sandbox that was placed on node %s: %w", node, err)
}

// elsewhere reports whether another node may be able to make the sandbox that this one did not:
// it began to drain, or could not, as with a full disk.
func (p *Placer) elsewhere(ctx context.Context, node string, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	code := yurt.CodeOf(err)
	return p.drains(node) || code == yurt.CodeSandboxFailed || code == yurt.CodeDiskFull || code == yurt.CodeInternal
}

func (p *Placer) drains(name string) bool {
	node, known := p.view.Node(name)
	return known && node.Draining
}

// preferences names nodes where the session would start fast: those that were asked for,
// then some that have the template.
func (p *Placer) preferences(digest string, hints contract.Hints) []string {
	names := slices.Clone(hints.Prefer)
	for _, node := range p.view.Nodes() {
		if len(names) >= preferredNodes {
			break
		}
		if node.placeable() && slices.Contains(node.Templates, digest) && !slices.Contains(names, node.Name) {
			names = append(names, node.Name)
		}
	}
	return names
}

// await claims the sandbox of a slot. The view may not have the node yet, and its executor
// may be about to start.
func (p *Placer) await(ctx context.Context, node, slot string, spec yurt.SandboxSpec) (sandbox yurt.Sandbox, _ error) {
	client, err := p.awaitNode(ctx, node)
	if err != nil {
		return yurt.Sandbox{}, err
	}
	var refusal error
	err = retry(ctx, func() error {
		sandbox, err = client.AwaitSandbox(ctx, spec, slot)
		if err != nil && (yurt.CodeOf(err) != yurt.CodeUnavailable || p.drains(node)) {
			refusal = err
			return nil
		}
		return err
	})
	if refusal != nil {
		return yurt.Sandbox{}, refusal
	}
	return sandbox, err
}

// awaitNode returns a client of the node once the view has it.
func (p *Placer) awaitNode(ctx context.Context, node string) (Client, error) {
	for {
		changed := p.view.Changed()
		client, err := p.clients.get(node)
		if err == nil {
			return client, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, yurt.Errorf(yurt.CodeUnavailable, "node %s announces no executor: %w", node, ctx.Err())
		}
	}
}

// stopSlot ends a slot in the background. If that does not succeed in time, the sweep of
// the leader finds a slot without a session.
func (p *Placer) stopSlot(slot string) {
	p.background(func(ctx context.Context) {
		if err := retry(ctx, func() error { return p.engine.Stop(ctx, slot) }); err != nil {
			p.log.Warn("ending a slot whose session could not be placed", "slot", slot, "error", err)
		}
	})
}
