package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/lease"
)

// SessionLabel is the label of a sandbox that names the session that owns it.
const SessionLabel = yurt.SessionLabel

// Config holds the settings and parts of a [Controller]. Store and Placer are required.
type Config struct {
	Store  Store
	Placer Placer
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
	// Orphans decides about sandboxes whose session the store does not know.
	Orphans OrphanPolicy
}

// Controller holds sessions. Make it with [New], let [Controller.Run] run while it
// serves, and end it with [Controller.Close].
type Controller struct {
	store     Store
	placer    Placer
	templates map[string]yurt.Template
	clock     Clock
	log       *slog.Logger
	metrics   *metrics
	reaper    *reaper
	id        string // of this life, which owns the sessions and executions that it makes and follows
	members   *lease.Members
	clocks    *clockCheck
	suspects  map[string]time.Time // sandboxes that the last sweep found without a session; Run's alone
	guard     nodeGuard            // likewise
	orphans   orphans

	cancelGrace time.Duration // see CancelExecution
	retention   time.Duration // of ended sessions
	quota       yurt.Size     // of results of a session
	space       yurt.Size     // likewise of all

	ctx       context.Context // of everything that outlives a request
	stop      context.CancelFunc
	recovered chan struct{} // closed once the sessions of an earlier life are judged

	mu        sync.Mutex
	closing   bool // no new requests
	closed    bool // no new tasks
	tasks     sync.WaitGroup
	teardowns int                       // tasks that clear up after a session
	tornDown  *sync.Cond                // signalled when no teardown is left
	live      map[string]*liveExecution // executions that this controller follows, by id
	placing   map[string]chan struct{}  // sessions that this controller is placing; closed when placed or failed
}

// New returns a controller. It serves once [Controller.Run] has recovered the
// sessions of an earlier life.
func New(config Config) (*Controller, error) {
	if config.Store == nil || config.Placer == nil {
		return nil, errors.New("making a controller: it needs a store and a placer")
	}
	if config.Clock == nil {
		config.Clock = systemClock()
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	templates := make(map[string]yurt.Template, len(config.Templates))
	for _, t := range config.Templates {
		templates[t.Name] = t
	}
	ctx, stop := context.WithCancel(access.Systemwide(context.Background()))
	c := &Controller{
		store: config.Store, placer: config.Placer, templates: templates, clock: config.Clock, log: config.Logger,
		cancelGrace: defaultCancelGrace, retention: cmp.Or(config.ResultRetention, yurt.ResultRetention),
		quota: cmp.Or(config.ResultQuota, yurt.ResultQuota), space: cmp.Or(config.ResultSpace, yurt.ResultSpace),
		ctx: ctx, stop: stop, recovered: make(chan struct{}),
		live: map[string]*liveExecution{}, placing: map[string]chan struct{}{},
		reaper: newReaper(), guard: newNodeGuard(), orphans: orphans{policy: config.Orphans}, id: yurt.NewControllerID(),
	}
	c.clocks = newClockCheck(config.Store, config.Clock)
	leases, _ := config.Store.(lease.Store)
	c.members = lease.New(lease.Config{
		Store: leases, ID: c.id, Time: cmp.Or(config.LeaseTime, lease.DefaultTime), Log: config.Logger,
		Fit: c.clocks.check, Changed: c.reaper.sweepSoon,
	})
	c.tornDown = sync.NewCond(&c.mu)
	var err error
	if c.metrics, err = newMetrics(config.Metrics, config.Store, c.members); err != nil {
		stop()
		return nil, err
	}
	return c, nil
}

// Run recovers the sessions of an earlier life, then ends sessions that run out or
// lose their sandbox, until ctx is done. It is called once.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(access.Systemwide(ctx))
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()

	watchers := newNodeWatchers(c)
	defer watchers.wait()
	defer cancel() // before the wait: a watcher ends when its context does
	if err := c.members.Beat(ctx); err != nil {
		return err
	}
	if c.members.Leads() {
		c.reaper.takeSweep() // which this is
		if err := c.recoverSessions(ctx); err != nil {
			return err
		}
		watchers.refresh(ctx)
	}
	close(c.recovered)
	watchers.tasks.Go(func() { c.members.Run(ctx) })
	c.reap(ctx, watchers)
	return nil
}

// Leads reports whether this controller, of those that share its store, ends sessions that run out, sizes warm pools
// and sweeps. Another one takes over when the leader is silent, so a leader's work has to be harmless when two
// controllers do it for a moment.
func (c *Controller) Leads() bool { return c.members.Leads() }

// Close takes no new requests, waits until the sessions that have ended are cleared
// up, and then ends everything that the controller does in the background. Sessions
// and executions that live go on at their nodes, for the next life.
func (c *Controller) Close() error {
	c.mu.Lock()
	c.closing = true
	for c.teardowns > 0 {
		c.tornDown.Wait()
	}
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.tasks.Wait()
	return nil
}

// Ready returns nil when the controller can serve, and why not otherwise.
func (c *Controller) Ready(ctx context.Context) error {
	if err := c.serving(); err != nil {
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

// serving returns an error until the sessions of an earlier life are judged: before
// that, a new one could be taken for a leftover.
func (c *Controller) serving() error {
	c.mu.Lock()
	closing := c.closing
	c.mu.Unlock()
	if closing {
		return yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down")
	}
	if err := c.members.Unfit(); err != nil {
		return err
	}
	select {
	case <-c.recovered:
		return nil
	default:
		return yurt.Errorf(yurt.CodeUnavailable, "the controller is starting; try again in a moment")
	}
}

// background runs task in a goroutine that Close waits for. The task has to end
// soon after its context does. It reports false when the controller is closed.
func (c *Controller) background(task func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(func() { task(c.ctx) })
	return true
}

// clearUp runs a task that clears up after a session. Close waits for it to end on
// its own.
func (c *Controller) clearUp(task func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return // the next life finds the remaining sessions
	}
	c.teardowns++
	c.tasks.Go(func() {
		task(c.ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.teardowns--; c.teardowns == 0 {
			c.tornDown.Broadcast()
		}
	})
}

// now is the time that records carry: UTC, without the monotonic reading, so that
// it is the same before and after the store.
func (c *Controller) now() time.Time { return c.clock.Now().UTC().Round(0) }

// sleep waits for d, or less when ctx ends. It paces input and output, so it keeps real time, independent of the
// controller's clock.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// detached returns a context for work that has to finish although its caller
// leaves, bounded by limit.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
