package cluster

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/pool"
)

const (
	claimNodes = 3               // that are asked for a warm sandbox before a cold start
	claimLimit = 2 * time.Second // for one node to answer a claim
	carryRate  = 4 << 20         // bytes of files a second that a node takes at the least
	awaitLimit = time.Minute     // for a slot that was placed to have its sandbox
	clearLimit = time.Minute     // for clearing up after a placement that failed
	closeLimit = 5 * time.Second // for the clean-up when the placer is closed
)

// Config configures a [Placer]. View, Engine and Dial are needed.
type Config struct {
	View    View
	Engine  Engine
	Dial    Dial
	Logger  *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: no metrics
	Random  *rand.Rand            // nil: one of its own
}

// Placer places sessions on the nodes of a cluster. It is a [contract.Placer] and safe
// for concurrent use. It owns the connections to the nodes, and the goroutines that clear
// up after placements that failed; [Placer.Close] ends both.
type Placer struct {
	view    *overlay
	engine  Engine
	log     *slog.Logger
	metrics *metrics
	clients *clients
	warm    *warm
	pools   *pool.Manager
	colds   colds

	ctx   context.Context // of the clean-up
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu      sync.Mutex
	chooser *chooser
	closed  bool
}

var _ contract.Placer = (*Placer)(nil)

// New returns a placer.
func New(config Config) (*Placer, error) {
	if config.View == nil || config.Engine == nil || config.Dial == nil {
		return nil, errors.New("making a placer: it needs a view, an engine and a way to reach nodes")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Random == nil {
		config.Random = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // it spreads load
	}
	view := &overlay{View: config.View}
	p := &Placer{
		view: view, engine: config.Engine, log: config.Logger,
		clients: newClients(view, config.Dial), chooser: newChooser(config.Random),
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.warm = newWarm(p)
	p.pools = pool.New(pool.Config{Supply: p.warm, Leads: p.warm.leading, Opens: warmOpens, Pause: warmPause, Hold: p.colds.hold, Logger: config.Logger})
	var err error
	if p.metrics, err = newMetrics(config.Metrics, p); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// Close waits a moment for the clean-up, and closes the connections to the nodes. The sweep of the next life does the rest.
func (p *Placer) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	timer := time.AfterFunc(closeLimit, p.stop)
	p.tasks.Wait()
	timer.Stop()
	p.stop()
	return p.clients.close()
}

// background runs a task that Close waits for.
func (p *Placer) background(task func(ctx context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return // left to the sweep
	}
	p.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, clearLimit)
		defer cancel()
		task(ctx)
	})
}

// Place implements contract.Placer: a warm sandbox where a node has one, otherwise a slot for this session.
func (p *Placer) Place(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	trace := newTrace()
	sandbox, found, err := p.claim(ctx, spec, hints, trace)
	kind := yurt.PlacementWarm
	if err == nil && !found {
		kind = yurt.PlacementCold
		sandbox, err = p.coldStart(ctx, spec, hints, trace)
	}
	if err != nil {
		return yurt.Sandbox{}, yurt.Placement{}, err
	}
	return sandbox, yurt.Placement{Kind: kind, Node: sandbox.Node, Phases: trace.with(sandbox.Phases)}, nil
}

// Node implements contract.Placer. A node that the view has lost for a while is not
// found; one that may come back is unavailable.
func (p *Placer) Node(_ context.Context, name string) (contract.Node, error) {
	return p.clients.get(name)
}

// Nodes implements contract.Placer: the nodes that answer.
func (p *Placer) Nodes(context.Context) (map[string]contract.Node, error) {
	nodes := map[string]contract.Node{}
	for _, node := range p.view.Nodes() {
		if !node.Healthy {
			continue
		}
		client, err := p.clients.get(node.Name)
		if err != nil {
			p.log.Error("connecting to a node", "node", node.Name, "error", err)
			continue
		}
		nodes[node.Name] = client
	}
	return nodes, nil
}

// Ready implements contract.Placer: a node that answers is enough.
func (p *Placer) Ready(context.Context) error { return nil }

// Release implements contract.SlotPlacer: it ends the slot that was made for the session.
func (p *Placer) Release(ctx context.Context, session yurt.Session) error {
	if session.Placement.Kind != yurt.PlacementCold {
		return nil // the slot of a warm sandbox makes another
	}
	return p.engine.Stop(ctx, session.ID)
}

// HeldSlots implements contract.SlotPlacer: it lists the sessions that have a slot of their own.
func (p *Placer) HeldSlots(ctx context.Context) ([]string, error) {
	jobs, err := p.engine.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var sessions []string
	for _, job := range jobs {
		if job.SessionID != "" && job.SessionID == job.SlotID {
			sessions = append(sessions, job.SessionID)
		}
	}
	return sessions, nil
}

// trace takes the time of the phases of a placement.
type trace struct {
	last   time.Time
	phases map[string]float64
}

func newTrace() *trace { return &trace{last: time.Now(), phases: map[string]float64{}} }

// mark adds the time since the last mark to a phase.
func (t *trace) mark(phase string) {
	now := time.Now()
	t.phases[phase] += float64(now.Sub(t.last).Microseconds()) / 1000
	t.last = now
}

// with returns the phases, and within the last of them those that the node took.
func (t *trace) with(node map[string]float64) map[string]float64 {
	for phase, ms := range node {
		t.phases["node_"+phase] = ms
	}
	return t.phases
}
