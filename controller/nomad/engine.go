package nomad

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
	"github.com/yurtrun/yurt/jobspecs"
)

const (
	// lookEvery is how often an order that waits is looked after, should an event be lost.
	lookEvery = 3 * time.Second
	// maxGaveUp is how often Nomad is asked again for an order that it gave up.
	maxGaveUp = 8
	// stopsInFlight is how many jobs are removed at once.
	stopsInFlight = 8
)

// Engine has Nomad start and stop slots. It is safe for concurrent use.
type Engine struct {
	config  Config
	client  *api.Client
	logger  *slog.Logger
	now     func() time.Time
	facts   *facts
	starts  *gate
	stops   *gate
	waiters waiters

	background context.Context // of what goes on when a call has returned; Close ends it
	cancel     context.CancelFunc
	done       sync.WaitGroup // of the same

	mu     sync.Mutex
	closed bool
}

var _ cluster.Engine = (*Engine)(nil)

// New returns an engine that is at work until Close. A jobspec with which no slot can be
// made is an error; a Nomad that is away is none.
func New(ctx context.Context, config Config) (*Engine, error) {
	client, err := config.client()
	if err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Jobspec == "" {
		config.Jobspec = jobspecs.Session()
	}
	if config.MaxInFlight <= 0 {
		config.MaxInFlight = defaultInFlight
	}
	e := &Engine{
		config: config, client: client, logger: config.Logger, now: time.Now,
		starts: newGate(config.MaxInFlight), stops: newGate(stopsInFlight),
	}
	e.facts = newFacts(e)
	if _, err := e.facts.jobspec(ctx); err != nil {
		if !transient(err) {
			return nil, fmt.Errorf("the jobspec of slots: %w", err)
		}
		e.logger.Warn("Nomad is not there yet", "error", err)
	}
	e.background, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.done.Go(func() { e.watch(e.background) })
	return e, nil
}

// Close ends what goes on in the background, and waits for it. Jobs that were to be removed
// and are not, whoever sweeps will find.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.done.Wait()
}

// Start implements cluster.Engine.
func (e *Engine) Start(ctx context.Context, order cluster.Order) (string, error) {
	leave, err := e.starts.enter(ctx, order.SessionID != "")
	if err != nil {
		return "", fmt.Errorf("waiting for those who asked Nomad before: %w", err)
	}
	defer leave()
	var spec *jobspec
	err = e.retry(ctx, func(ctx context.Context) error {
		spec, err = e.facts.jobspec(ctx)
		return err
	})
	if err != nil {
		return "", explain("reading the jobspec", err)
	}
	mhz, err := e.facts.mhzPerCore(ctx)
	if err != nil {
		return "", explain("asking what a core is", err)
	}
	job, err := spec.fill(&order, mhz)
	if err != nil {
		return "", err
	}
	node, err := e.place(ctx, &order, job)
	if err != nil {
		e.discard(*job.ID)
		return "", err
	}
	return node, nil
}

// place registers the job and returns the node on which Nomad placed it.
func (e *Engine) place(ctx context.Context, order *cluster.Order, job *api.Job) (string, error) {
	w := e.waiters.add(*job.ID)
	defer e.waiters.remove(w)
	if err := e.register(ctx, job); err != nil {
		return "", explain("registering the job of a sandbox", err)
	}
	look := time.NewTicker(spread(lookEvery))
	defer look.Stop()
	for given := 0; ; {
		var n news
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for Nomad to place a sandbox: %w", ctx.Err())
		case n = <-w.news:
		case <-look.C:
			n.what = unclear
		}
		if n.what == unclear {
			n = e.look(ctx, *job.ID)
		}
		switch n.what {
		case placed:
			return n.node, nil
		case refusal:
			return "", refused(order, n.groups)
		case removed:
			return "", yurt.Errorf(yurt.CodeUnavailable, "the job of a sandbox was stopped in Nomad while it was being placed")
		case gaveUp:
			if given++; given > maxGaveUp {
				return "", yurt.Errorf(yurt.CodeOverloaded, "Nomad gave up placing a sandbox %d times: others took the room; try again later", given)
			}
			pause(ctx, backoff(given))
			if err := e.evaluate(ctx, *job.ID); err != nil {
				return "", explain("having Nomad place a sandbox again", err)
			}
		case unclear:
		}
	}
}

// discard removes a job in the background.
func (e *Engine) discard(jobID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.done.Go(func() {
		if err := e.remove(e.background, jobID); err != nil {
			e.logger.Warn("the job of a sandbox is left to the sweep", "job", jobID, "error", err)
		}
	})
}

// Stop implements cluster.Engine.
func (e *Engine) Stop(ctx context.Context, slotID string) error {
	if err := e.remove(ctx, jobID(slotID)); err != nil {
		return explain("removing the job of a sandbox", err)
	}
	return nil
}
