package pool

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
)

const (
	// tick is the pause between two looks at the pools without a change.
	tick = time.Second
	// jitter is the part of a pause by which it may be longer.
	jitter = 10
)

// Supply provides the slots of pools. Its methods may be called concurrently.
type Supply interface {
	// Stock returns the present sandboxes by digest of the template.
	Stock(ctx context.Context) (map[string]Stock, error)
	// Open opens one slot of the template, and returns once its sandbox can be claimed.
	Open(ctx context.Context, template yurt.Template) error
	// Close closes up to so many idle slots of the template with the digest. One that is
	// claimed before it is closed stays.
	Close(ctx context.Context, digest string, slots int) error
	// Changed receives when there may be something to do before the next tick.
	Changed() <-chan struct{}
}

// Templates lists all templates, with the sizes that their pools are to have now.
type Templates func(context.Context) ([]yurt.Template, error)

// Config configures a [Manager]. Supply is needed.
type Config struct {
	Supply Supply
	// Leads reports whether this manager opens and closes slots now. A manager that does not only observes, and so knows the demand
	// when it comes to lead. nil: always.
	Leads func() bool
	// Hold reports that no slots are to be opened now, because sessions wait for cold starts that need the same room. nil: never.
	Hold func() bool
	// Opens is how many slots are opened at once. 0: one.
	Opens int
	// Pause is how long a claim is left alone before the pool is looked at.
	Pause  time.Duration
	Logger *slog.Logger // nil: no log
}

// Manager keeps pools at their sizes while it runs. Its methods may be called concurrently.
type Manager struct {
	config Config
	now    func() time.Time
	wake   chan struct{} // holds one when a slot has opened, or failed to
	refill prometheus.Histogram

	looking sync.Mutex // one look at a time: observations must not go back

	mu      sync.Mutex
	planner *Planner
	ended   []opened // not told to the planner yet
	closing bool
	listed  []yurt.Template // at the last look, for the metrics
}

// opened is the end of an Open.
type opened struct {
	template yurt.Template
	took     time.Duration
	err      error
}

// New returns a manager, which is idle until [Manager.Run].
func New(config Config) *Manager {
	if config.Leads == nil {
		config.Leads = func() bool { return true }
	}
	if config.Hold == nil {
		config.Hold = func() bool { return false }
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // it spreads work in time and keeps no secret
	return &Manager{
		config: config, now: time.Now, wake: make(chan struct{}, 1), refill: newRefill(),
		planner: NewPlanner(max(1, config.Opens), random),
	}
}

// Run keeps the pools at their sizes until ctx is done. It returns when the openings and closings that it began have ended, and
// leaves the slots as they are.
func (m *Manager) Run(ctx context.Context, templates Templates) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for ctx.Err() == nil {
		if err := m.turn(ctx, templates, &tasks); err != nil && ctx.Err() == nil {
			m.config.Logger.Error("looking at the warm pools", "error", err)
		}
		m.wait(ctx)
	}
}

// wait returns when the pools are to be looked at again. Claims are left alone for a pause,
// unless slots are being opened anyway.
func (m *Manager) wait(ctx context.Context) {
	changed := m.config.Supply.Changed()
	if m.sleep(ctx, changed, spread(tick)) {
		m.sleep(ctx, nil, spread(m.config.Pause))
	}
	select {
	case <-changed: // during the pause, so that the look is about it too
	default:
	}
}

// sleep waits for so long, or until a slot has opened, ctx is done or, which it reports,
// there is a change.
func (m *Manager) sleep(ctx context.Context, changed <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
		return true
	case <-m.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// turn looks at the pools and begins the changes that are due.
func (m *Manager) turn(ctx context.Context, templates Templates, tasks *sync.WaitGroup) error {
	list, err := templates(ctx)
	if err != nil {
		return err
	}
	plan, err := m.look(ctx, list)
	if err != nil {
		return err
	}
	for _, template := range plan.Open {
		tasks.Go(func() { m.open(ctx, template) })
	}
	if len(plan.Close) > 0 {
		tasks.Go(func() { m.close(ctx, plan.Close) })
	}
	return nil
}

// look reads the stock, and plans if this manager leads. It tells the planner of opened slots first, since the stock shows them.
func (m *Manager) look(ctx context.Context, templates []yurt.Template) (Plan, error) {
	m.looking.Lock()
	defer m.looking.Unlock()
	m.tell()
	stock, err := m.config.Supply.Stock(ctx)
	if err != nil {
		return Plan{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listed = templates
	if !m.config.Leads() || m.config.Hold() {
		m.planner.Observe(m.now(), templates, stock)
		return Plan{}, nil
	}
	plan := m.planner.Look(m.now(), templates, stock)
	if m.closing {
		plan.Close = nil // the stock may still show slots that are being closed
	}
	m.closing = m.closing || len(plan.Close) > 0
	return plan, nil
}

// tell tells the planner which slots have opened, and which could not be.
func (m *Manager) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.ended {
		m.planner.Opened(m.now(), o.template, o.took, o.err)
	}
	m.ended = nil
}

func (m *Manager) open(ctx context.Context, template yurt.Template) {
	begun := m.now()
	err := m.config.Supply.Open(ctx, template)
	took := m.now().Sub(begun)
	switch {
	case err == nil:
		m.refill.Observe(took.Seconds())
	case ctx.Err() == nil:
		m.config.Logger.Warn("filling a warm pool", "template", template.Name, "error", err)
	}
	m.mu.Lock()
	m.ended = append(m.ended, opened{template, took, err})
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *Manager) close(ctx context.Context, closing []Closing) {
	for _, c := range closing {
		if err := m.config.Supply.Close(ctx, c.Digest, c.Slots); err != nil && ctx.Err() == nil {
			m.config.Logger.Warn("shrinking a warm pool", "digest", c.Digest, "error", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = false
}

// GaveWay notes that idle slots of the template with the digest were closed for a session that waits, and are not to be opened
// again at once.
func (m *Manager) GaveWay(digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planner.GaveWay(m.now(), digest)
}

// Pools says how the pools of some templates are now, in their order.
func (m *Manager) Pools(ctx context.Context, templates []yurt.Template) ([]yurt.Pool, error) {
	m.looking.Lock()
	defer m.looking.Unlock()
	stock, err := m.config.Supply.Stock(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planner.Observe(m.now(), templates, stock)
	list := make([]yurt.Pool, len(templates))
	for i, t := range templates {
		list[i] = m.planner.State(t)
	}
	return list, nil
}

// spread makes a pause a little longer, so that several managers do not keep step.
func spread(d time.Duration) time.Duration {
	return d + rand.N(d/jitter+1) //nolint:gosec // see New
}
