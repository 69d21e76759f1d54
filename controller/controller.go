package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/fleet"
	"github.com/yurtrun/yurt/controller/internal/clock"
	"github.com/yurtrun/yurt/controller/internal/life"
	"github.com/yurtrun/yurt/controller/internal/reach"
	"github.com/yurtrun/yurt/controller/lease"
	"github.com/yurtrun/yurt/internal/turns"
)

// Config holds the settings and parts of a [Controller]. Store and Placer are required.
type Config struct {
	Store  contract.Store
	Placer contract.Placer
	// Templates are built in: always there, and not to be replaced.
	Templates []yurt.Template
	Clock     Clock                 // nil: the machine's
	Logger    *slog.Logger          // nil: no log
	Metrics   prometheus.Registerer // nil: no metrics
	// LeaseTime is for how long a controller may be silent before another one that uses
	// the same store takes over; 0 is [lease.DefaultTime].
	LeaseTime time.Duration
	// ResultRetention is how long a session that has ended is remembered, with its results; 0 is
	// [yurt.ResultRetention].
	ResultRetention time.Duration
	// ResultQuota and ResultSpace bound the bytes of results that are kept of a session and of all; 0 is [yurt.ResultQuota] and
	// [yurt.ResultSpace].
	ResultQuota, ResultSpace yurt.Size
	// CancelGrace is how long an execution that is cancelled has to end after the interrupt; 0 is [execution.DefaultCancelGrace].
	CancelGrace time.Duration
	// Orphans decides about sandboxes whose session the store does not know.
	Orphans fleet.OrphanPolicy
}

// Controller holds sessions. Make it with [New], let [Controller.Run] run while it
// serves, and end it with [Controller.Close].
type Controller struct {
	*Catalog
	*Files
	*execution.Runner
	*fleet.Nodes

	life      *life.Life
	reach     *reach.Reach
	store     contract.Store
	placer    contract.Placer
	metrics   *metrics
	ledger    *ledger
	creates   *creates
	storing   *turns.Gate // for creates that are about to be stored; tenants take turns
	tracker   *execution.Tracker
	keeper    *fleet.Keeper
	deadlines *fleet.Deadlines
}

// Clock tells the time and waits. Tests replace it.
type Clock = clock.Clock

// New returns a controller. It serves once [Controller.Run] has recovered the
// sessions of an earlier life.
func New(config Config) (*Controller, error) {
	if config.Store == nil || config.Placer == nil {
		return nil, errors.New("making a controller: it needs a store and a placer")
	}
	if config.Clock == nil {
		config.Clock = clock.System()
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	templates := make(map[string]yurt.Template, len(config.Templates))
	for _, t := range config.Templates {
		templates[t.Name] = t
	}
	c := &Controller{
		Catalog: &Catalog{store: config.Store, placer: config.Placer, builtIn: templates},
		life:    life.New(config.Clock, config.Logger), store: config.Store, placer: config.Placer, deadlines: fleet.NewDeadlines(),
		creates: newCreates(), storing: turns.NewGate(storedAtOnce),
	}
	timed, _ := config.Store.(contract.ClockStore)
	leases, _ := config.Store.(lease.Store)
	c.life.Members = lease.New(lease.Config{
		Store: leases, ID: c.life.ID, Time: cmp.Or(config.LeaseTime, lease.DefaultTime), Log: config.Logger,
		Fit: clock.NewCheck(timed, config.Clock).Compare, Changed: c.deadlines.SweepSoon,
	})
	var err error
	if c.metrics, err = newMetrics(config.Metrics, config.Store, c.life.Members); err != nil {
		c.life.Close()
		return nil, err
	}
	c.join(config)
	return c, nil
}

// join makes the parts of the controller, the lowest first.
func (c *Controller) join(config Config) {
	c.reach = reach.New(config.Store, config.Placer, c.life.Now)
	c.Files = &Files{store: config.Store, reach: c.reach}
	c.Runner, c.tracker = execution.New(execution.Config{
		Life: c.life, Reach: c.reach, Store: config.Store, Placer: config.Placer, Templates: c.Catalog, Deadlines: c.deadlines,
		Ended: c.metrics.executionEnded, Quota: cmp.Or(config.ResultQuota, yurt.ResultQuota), Space: cmp.Or(config.ResultSpace, yurt.ResultSpace),
		CancelGrace: cmp.Or(config.CancelGrace, execution.DefaultCancelGrace),
	})
	c.ledger = &ledger{life: c.life, reach: c.reach, store: config.Store, tracker: c.tracker, placing: map[string]chan struct{}{}}
	shrink, _ := config.Store.(contract.ShrinkStore)
	c.Nodes, c.keeper = fleet.New(fleet.Config{
		Life: c.life, Store: config.Store, Shrink: shrink, Placer: config.Placer, Templates: c.Catalog, Sessions: c.ledger,
		Executions: c.tracker, Deadlines: c.deadlines, Expired: c.metrics.expired.Inc,
		Retention: cmp.Or(config.ResultRetention, yurt.ResultRetention), Space: cmp.Or(config.ResultSpace, yurt.ResultSpace),
		Orphans: config.Orphans,
	})
}

// Run recovers the sessions of an earlier life, then ends sessions that run out or
// lose their sandbox, until ctx is done. It is called once.
func (c *Controller) Run(ctx context.Context) error { return c.keeper.Run(ctx) }

// Leads reports whether this controller, of those that share its store, ends sessions that run out, sizes warm pools
// and sweeps. Another one takes over when the leader is silent, so a leader's work has to be harmless when two
// controllers do it for a moment.
func (c *Controller) Leads() bool { return c.life.Members.Leads() }

// Live returns how many controllers share the store and live, this one included.
func (c *Controller) Live() int { return c.life.Members.Count() }

// RefuseCreates ends the wait of all creates with the code unavailable, refuses further ones, and returns when all have ended. Their
// sessions are terminated. Other requests are served until [Controller.Close].
func (c *Controller) RefuseCreates(ctx context.Context) error { return c.creates.stop(ctx) }

// Close takes no new requests, waits until the sessions that have ended are cleared
// up, and then ends everything that the controller does in the background. Sessions
// and executions that live go on at their nodes, for the next life.
func (c *Controller) Close() error {
	c.life.Close()
	return nil
}

// Session returns one session.
func (c *Controller) Session(ctx context.Context, id string) (yurt.Session, error) {
	return c.reach.Session(ctx, id)
}

// Ready returns nil when the controller can serve, and why not otherwise.
func (c *Controller) Ready(ctx context.Context) error {
	if err := c.life.Serving(); err != nil {
		return err
	}
	if err := c.store.Ping(ctx); yurt.CodeOf(err) == yurt.CodeDiskFull {
		return yurt.Errorf(yurt.CodeUnavailable, "%w", err)
	} else if err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "the store does not answer: %w", err)
	}
	if err := c.placer.Ready(ctx); err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "no session can be placed: %w", err)
	}
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "listing the nodes: %w", err)
	}
	if len(nodes) == 0 {
		return yurt.Errorf(yurt.CodeUnavailable, "no node is reachable")
	}
	return nil
}
