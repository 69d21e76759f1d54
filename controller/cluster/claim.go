package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// attemptLabel is the label of a sandbox that names the attempt which claimed it, so that
// one whose answer was lost is told from one that was got at the same node later.
const attemptLabel = "attempt"

// claim asks nodes for a warm sandbox, one after the other, until one has it.
func (p *Placer) claim(ctx context.Context, spec yurt.SandboxSpec, hints controller.Hints, trace *trace) (_ yurt.Sandbox, found bool, _ error) {
	if !spec.Warmable() {
		return yurt.Sandbox{}, false, nil
	}
	digest := spec.Template.Digest()
	var asked []string
	for range claimNodes {
		a, ok := p.choose(digest, hints.Prefer, asked)
		trace.mark("pick")
		if !ok {
			break
		}
		sandbox, how, err := p.claimAt(ctx, a, spec)
		p.finish(a, how)
		trace.mark("claim")
		switch {
		case how == claimGot:
			return sandbox, true, nil
		case ctx.Err() != nil:
			return yurt.Sandbox{}, false, fmt.Errorf("claiming a sandbox at node %s: %w", a.node, ctx.Err())
		case how == claimFailed:
			p.log.Warn("a claim failed", "node", a.node, "error", err)
		}
		asked = append(asked, a.node)
	}
	return yurt.Sandbox{}, false, nil
}

func (p *Placer) choose(digest string, prefer, skip []string) (attempt, bool) {
	nodes := p.view.Nodes()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chooser.choose(nodes, digest, prefer, skip, time.Now())
}

func (p *Placer) finish(a attempt, how outcome) {
	p.metrics.claimed(how)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chooser.done(a, how, time.Now())
}

// claimAt asks one node. Whatever it may have handed out without our knowing is destroyed
// in the background.
func (p *Placer) claimAt(ctx context.Context, a attempt, spec yurt.SandboxSpec) (yurt.Sandbox, outcome, error) {
	client, err := p.clients.get(a.node)
	if err != nil {
		return yurt.Sandbox{}, claimFailed, err
	}
	spec, id := labelled(spec)
	limited, cancel := context.WithTimeout(ctx, claimLimit)
	defer cancel()
	sandbox, found, err := client.ClaimSandbox(limited, spec)
	switch {
	case err == nil && found:
		sandbox.Node = a.node
		return sandbox, claimGot, nil
	case err == nil:
		return yurt.Sandbox{}, claimRefused, nil
	case faultOfNode(err):
		p.abandon(a.node, id)
		return yurt.Sandbox{}, claimFailed, err
	default:
		return yurt.Sandbox{}, claimRefused, err
	}
}

// labelled returns the spec with a label of this attempt alone.
func labelled(spec yurt.SandboxSpec) (_ yurt.SandboxSpec, attempt string) {
	attempt = yurt.NewSandboxID()
	labels := maps.Clone(spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[attemptLabel] = attempt
	spec.Labels = labels
	return spec, attempt
}

// faultOfNode reports whether an error says that the node is not well, or that nobody
// knows what became of the call. What is wrong with the request must not count: whoever
// makes it could take the nodes out of rotation.
func faultOfNode(err error) bool {
	return slices.Contains([]yurt.Code{
		yurt.CodeUnavailable, yurt.CodeDeadlineExceeded, yurt.CodeCanceled, yurt.CodeInternal, yurt.CodeSandboxFailed,
	}, yurt.CodeOf(err))
}

// abandon destroys, in the background, the sandbox that the attempt may have got at the
// node. Until the node answers it tries again; after that, the controller's sweep finds it.
func (p *Placer) abandon(node, attempt string) {
	p.background(func(ctx context.Context) {
		err := retry(ctx, func() error {
			client, err := p.clients.get(node)
			if err != nil {
				return err
			}
			sandboxes, err := client.Sandboxes(ctx)
			if err != nil {
				return err
			}
			for _, sandbox := range sandboxes {
				if sandbox.Labels[attemptLabel] == attempt {
					return client.DestroySandbox(ctx, sandbox.ID)
				}
			}
			return nil
		})
		if err != nil {
			p.log.Warn("looking for a sandbox whose claim failed", "node", node, "error", err)
		}
	})
}

// The pauses of retry.
const (
	retryLeast = 100 * time.Millisecond
	retryMost  = 5 * time.Second
)

// retry calls do until it succeeds or ctx ends, with longer and longer pauses.
func retry(ctx context.Context, do func() error) error {
	for pause := retryLeast; ; pause = min(2*pause, retryMost) {
		err := do()
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
