package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// attemptLabel is the label of a sandbox that names the attempt which claimed it. It distinguishes a sandbox whose
// answer was lost from a later one of the same node.
const attemptLabel = "attempt"

// claim asks nodes for a warm sandbox, one after the other, until one has it, or is about to.
func (p *Placer) claim(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints, trace *trace) (_ yurt.Sandbox, found bool, _ error) {
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
		sandbox, how, err := p.askAt(ctx, a.node, spec, func(ctx context.Context, client Client, spec yurt.SandboxSpec) (yurt.Sandbox, bool, error) {
			return client.ClaimSandbox(ctx, spec)
		})
		p.finish(a, how)
		trace.mark("claim")
		switch {
		case how == claimGot:
			return sandbox, true, nil
		case ctx.Err() != nil:
			return yurt.Sandbox{}, false, fmt.Errorf("claiming a sandbox at node %s: %w", a.node, ctx.Err())
		case isOfFiles(err):
			return yurt.Sandbox{}, false, err
		case how == claimFailed:
			p.log.Warn("a claim failed", "node", a.node, "error", err)
		}
		asked = append(asked, a.node)
	}
	return p.claimNext(ctx, spec, trace)
}

// refillNodes is how many nodes are asked for a sandbox that is about to be ready.
const refillNodes = 2

// claimNext waits at a node whose slots are making their next sandbox of the template. That sandbox is ready before a cold start
// would be, and is made anyway. The node knows how many callers wait.
func (p *Placer) claimNext(ctx context.Context, spec yurt.SandboxSpec, trace *trace) (_ yurt.Sandbox, found bool, _ error) {
	defer trace.mark("next")
	for _, node := range p.refilling(spec.Template.Digest()) {
		sandbox, how, err := p.askAt(ctx, node, spec, func(ctx context.Context, client Client, spec yurt.SandboxSpec) (yurt.Sandbox, bool, error) {
			sandbox, err := client.AwaitSandbox(ctx, spec, "")
			return sandbox, err == nil, err
		})
		if ctx.Err() == nil && yurt.CodeOf(err) == yurt.CodeDeadlineExceeded {
			how = claimRefused // it is slow, and a cold start may be faster
		}
		p.metrics.claimed(how)
		switch {
		case how == claimGot:
			return sandbox, true, nil
		case ctx.Err() != nil:
			return yurt.Sandbox{}, false, fmt.Errorf("waiting for a sandbox at node %s: %w", node, ctx.Err())
		case isOfFiles(err):
			return yurt.Sandbox{}, false, err
		case how == claimFailed:
			p.log.Warn("waiting for a sandbox failed", "node", node, "error", err)
		}
	}
	return yurt.Sandbox{}, false, nil
}

// refilling names nodes that make sandboxes of the template, or had some a moment ago;
// those that make most first.
func (p *Placer) refilling(digest string) []string {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	var nodes []NodeState
	for _, node := range p.view.Nodes() {
		of := node.Capacity.Templates[digest]
		if of.Making+of.Warm > 0 && node.Healthy && !node.Draining && p.chooser.breaker.allows(node.Name, now) {
			nodes = append(nodes, node)
		}
	}
	slices.SortStableFunc(nodes, func(a, b NodeState) int {
		return b.Capacity.Templates[digest].Making - a.Capacity.Templates[digest].Making
	})
	names := make([]string, 0, refillNodes)
	for _, node := range nodes[:min(len(nodes), refillNodes)] {
		names = append(names, node.Name)
	}
	return names
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

// ask asks a node for a sandbox without an owner.
type ask func(ctx context.Context, client Client, spec yurt.SandboxSpec) (_ yurt.Sandbox, found bool, _ error)

// askAt asks one node. A sandbox that the node may have handed out in a lost answer is destroyed in the background.
func (p *Placer) askAt(ctx context.Context, node string, spec yurt.SandboxSpec, ask ask) (yurt.Sandbox, outcome, error) {
	client, err := p.clients.get(node)
	if err != nil {
		return yurt.Sandbox{}, claimFailed, err
	}
	spec, id := labelled(spec)
	limited, cancel := context.WithTimeout(ctx, claimLimit+carryLimit(spec.Files))
	defer cancel()
	sandbox, found, err := ask(limited, client, spec)
	switch {
	case err == nil && found:
		sandbox.Node = node
		return sandbox, claimGot, nil
	case err == nil:
		return yurt.Sandbox{}, claimRefused, nil
	case ctx.Err() != nil:
		p.abandon(node, id)
		return yurt.Sandbox{}, claimLeft, err
	case faultOfNode(err):
		p.abandon(node, id)
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

// faultOfNode reports whether an error says that the node is not well, or leaves the outcome of the call unknown. A fault of the
// request does not count: otherwise its caller could take the nodes out of rotation.
func faultOfNode(err error) bool {
	return slices.Contains([]yurt.Code{
		yurt.CodeUnavailable, yurt.CodeDeadlineExceeded, yurt.CodeCanceled, yurt.CodeInternal, yurt.CodeSandboxFailed, yurt.CodeDiskFull,
	}, yurt.CodeOf(err))
}

// carryLimit is the time for initial files to reach a node and a sandbox there, so that many files do not make the node look slow.
func carryLimit(files []yurt.SourceFile) time.Duration {
	return time.Duration(float64(yurt.FilesSize(files)) / carryRate * float64(time.Second))
}

// isOfFiles reports whether a node had a sandbox, and no room in it for the files that the
// session is to begin with. It has been destroyed, and others have no more room.
func isOfFiles(err error) bool {
	var coded *yurt.Error
	return errors.As(err, &coded) && coded.Field == "files"
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
