package local

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/pool"
)

// Executor is the node in this process: it makes sandboxes and is asked about them.
type Executor interface {
	contract.Node
	// CreateSandbox returns a sandbox that is ready.
	CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error)
	// ReserveSandbox makes a sandbox without an owner.
	ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error)
	// ClaimSandbox hands out one that was reserved, if there is any of the template.
	ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (_ yurt.Sandbox, found bool, err error)
	// Reserves lists the sandboxes that can be claimed.
	Reserves(ctx context.Context) ([]yurt.Reserve, error)
	// ReleaseReserve destroys one of the reserve of the template with the digest.
	ReleaseReserve(ctx context.Context, digest string) error
	// Capacity returns the node's capacity, and whether it takes new sandboxes.
	Capacity(ctx context.Context) (yurt.Capacity, error)
}

// Placer is a contract.Placer over one [Executor]. It is safe for concurrent use.
type Placer struct {
	name     string
	executor Executor
	logger   *slog.Logger
	supply   *supply
	pools    *pool.Manager
}

var _ contract.Placer = (*Placer)(nil)

// New returns a placer over executor, whose node has the given name. The name has to
// stay the same over restarts: sessions are found again by it.
func New(name string, executor Executor, logger *slog.Logger) *Placer {
	supply := newSupply(executor, logger)
	pools := pool.New(pool.Config{Supply: supply, Pause: refillPause, Logger: logger})
	return &Placer{name: name, executor: executor, logger: logger, supply: supply, pools: pools}
}

// Run keeps the warm pools of the templates filled until ctx is done, and empties them
// then. Without it every sandbox is made when it is asked for.
func (p *Placer) Run(ctx context.Context, templates func(context.Context) ([]yurt.Template, error)) {
	p.pools.Run(ctx, func(ctx context.Context) ([]yurt.Template, error) {
		list, err := templates(ctx)
		if err == nil {
			p.supply.forget(list)
		}
		return list, err
	})
	if err := p.supply.empty(context.WithoutCancel(ctx)); err != nil {
		p.logger.Error("emptying the warm pools", "error", err)
	}
}

// Metrics returns the metrics of the warm pools.
func (p *Placer) Metrics() prometheus.Collector { return p.pools.Collector() }

// Place implements contract.Placer. There is but one node to be on.
func (p *Placer) Place(ctx context.Context, spec yurt.SandboxSpec, _ contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	if sandbox, found := p.supply.claim(ctx, spec); found {
		sandbox.Node = p.name
		return sandbox, yurt.Placement{Kind: yurt.PlacementWarm, Node: p.name, Phases: sandbox.Phases}, nil
	}
	sandbox, err := p.executor.CreateSandbox(ctx, spec)
	if err != nil {
		return yurt.Sandbox{}, yurt.Placement{}, err
	}
	sandbox.Node = p.name
	return sandbox, yurt.Placement{Kind: yurt.PlacementCold, Node: p.name, Phases: sandbox.Phases}, nil
}

// Ready implements contract.Placer.
func (p *Placer) Ready(ctx context.Context) error {
	capacity, err := p.executor.Capacity(ctx)
	if err == nil && capacity.DiskFull {
		err = yurt.Errorf(yurt.CodeDiskFull, "the disk of node %s is full", p.name)
	}
	return err
}

// Node implements contract.Placer.
func (p *Placer) Node(_ context.Context, name string) (contract.Node, error) {
	if name != p.name {
		return nil, yurt.Errorf(yurt.CodeNotFound, "there is no node %q here, only %q", name, p.name)
	}
	return p.executor, nil
}

// Nodes implements contract.Placer.
func (p *Placer) Nodes(context.Context) (map[string]contract.Node, error) {
	return map[string]contract.Node{p.name: p.executor}, nil
}

// Warnings implements contract.Placer: this placer warns of no fault.
func (p *Placer) Warnings() []string { return nil }

// Release implements contract.SlotPlacer: a session has its sandbox alone.
func (p *Placer) Release(context.Context, yurt.Session) error { return nil }

// HeldSlots implements contract.SlotPlacer.
func (p *Placer) HeldSlots(context.Context) ([]string, error) { return nil, nil }

// Pools implements contract.Placer.
func (p *Placer) Pools(ctx context.Context, templates []yurt.Template) ([]yurt.Pool, error) {
	return p.pools.Pools(ctx, templates)
}

// NodeList implements contract.NodePlacer.
func (p *Placer) NodeList(ctx context.Context) ([]yurt.NodeInfo, error) {
	reserves, err := p.executor.Reserves(ctx)
	if err != nil {
		return nil, err
	}
	capacity, err := p.executor.Capacity(ctx)
	if err != nil {
		return nil, err
	}
	node := yurt.NodeInfo{
		Name: p.name, Healthy: true, Draining: capacity.Draining, Warm: map[string]int{}, Memory: capacity.Memory, UpdatedAt: time.Now().UTC(),
	}
	for _, r := range reserves {
		node.Warm[r.Digest] = r.Ready
	}
	return []yurt.NodeInfo{node}, nil
}
