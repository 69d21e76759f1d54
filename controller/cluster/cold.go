package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// preferredNodes bounds how many nodes an order names: the engine weighs each.
const preferredNodes = 5

// coldsFirst is how long cold starts hold up what nobody waits for.
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

// coldStart has the engine start a slot for this session alone, and claims its sandbox,
// so that what only the session may know goes to the node and nowhere else. The slot has
// the session's id for its name: whoever ends the session can end it.
func (p *Placer) coldStart(ctx context.Context, spec yurt.SandboxSpec, hints controller.Hints, trace *trace) (_ yurt.Sandbox, err error) {
	defer p.colds.begin()()
	slot := spec.Labels[controller.SessionLabel]
	if slot == "" {
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeInternal, "a sandbox without a session cannot be started")
	}
	node, err := p.start(ctx, Order{
		SlotID: slot, Template: spec.Template, Resources: spec.Resources, SessionID: slot, Once: true,
		Prefer: p.preferences(spec.Template.Digest(), hints),
	})
	trace.mark("place")
	p.metrics.started(err)
	if err != nil {
		return yurt.Sandbox{}, err
	}
	defer func() {
		if err != nil {
			p.stopSlot(slot)
		}
	}()
	limited, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	sandbox, err := p.await(limited, node, slot, spec)
	trace.mark("await")
	if err != nil {
		return yurt.Sandbox{}, fmt.Errorf("waiting for the sandbox that was placed on node %s: %w", node, err)
	}
	sandbox.Node = node
	return sandbox, nil
}

// preferences names nodes where the session would start fast: those that were asked for,
// then some that have the template.
func (p *Placer) preferences(digest string, hints controller.Hints) []string {
	names := slices.Clone(hints.Prefer)
	for _, node := range p.view.Nodes() {
		if len(names) >= preferredNodes {
			break
		}
		if node.Healthy && !node.Draining && slices.Contains(node.Templates, digest) && !slices.Contains(names, node.Name) {
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
		if err != nil && yurt.CodeOf(err) != yurt.CodeUnavailable {
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
