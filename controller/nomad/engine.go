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
	"github.com/yurtrun/yurt/internal/turns"
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
	starts  *turns.Gate
	stops   *turns.Gate
	waiters waiters

	background context.Context // of the work that goes on after a call has returned; Close ends it
	cancel     context.CancelFunc
	done       sync.WaitGroup // of the same

	mu         sync.Mutex
	closed     bool
	discarding map[string]chan struct{} // by job; closed when it is removed
}

var _ cluster.Engine = (*Engine)(nil)

// New returns an engine that works until Close. It refuses a jobspec from which no slot can be made. A Nomad that is away is no
// error.
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
		starts: turns.NewGate(config.MaxInFlight), stops: turns.NewGate(stopsInFlight),
		discarding: map[string]chan struct{}{},
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

// Close ends the background work, and waits for it. The sweep finds the jobs that were still to be removed.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.done.Wait()
}

// Start implements cluster.Engine.
func (e *Engine) Start(ctx context.Context, order cluster.Order) (string, error) {
	if err := checkID(order.SlotID); err != nil {
		return "", err
	}
	leave, err := e.starts.Enter(ctx, order.Share, order.SessionID != "")
	if err != nil {
		return "", fmt.Errorf("waiting for earlier requests to Nomad: %w", err)
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
		return "", explain("asking for the speed of a core", err)
	}
	job, err := spec.fill(&order, mhz)
	if err != nil {
		return "", err
	}
	if err := e.discarded(ctx, *job.ID); err != nil {
		return "", err
	}
	w := e.waiters.add(*job.ID)
	defer e.waiters.remove(w)
	registering := e.register(ctx, job)
	node, err := e.place(ctx, &order, w, registering)
	if err != nil {
		e.discard(*job.ID, registering)
		return "", err
	}
	return node, nil
}

// place returns the node on which Nomad placed the job that is being registered.
func (e *Engine) place(ctx context.Context, order *cluster.Order, w *waiter, registering *registration) (string, error) {
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("registering the job of a sandbox: %w", ctx.Err())
	case <-registering.done:
	}
	if err := registering.err; err != nil {
		return "", explain("registering the job of a sandbox", err)
	}
	look := time.NewTicker(spread(lookEvery))
	defer look.Stop()
	for given := 0; ; {
		n, err := e.next(ctx, w, registering.index, look.C)
		if err != nil {
			return "", err
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
			if err := e.evaluate(ctx, w.job); err != nil {
				return "", explain("having Nomad place a sandbox again", err)
			}
		case unclear:
		}
	}
}

// next waits for the outcome of an order, and asks Nomad when it is unclear. Events before index belong to an earlier job of that
// name: a stream of events begins in the past.
func (e *Engine) next(ctx context.Context, w *waiter, index uint64, look <-chan time.Time) (news, error) {
	for {
		n := news{what: unclear}
		select {
		case <-ctx.Done():
			return n, fmt.Errorf("waiting for Nomad to place a sandbox: %w", ctx.Err())
		case n = <-w.news:
		case <-look:
		}
		if n.index != 0 && n.index < index {
			continue
		}
		if n.what == unclear {
			n = e.look(ctx, w.job)
		}
		return n, nil
	}
}

// discard removes a job in the background, once Nomad has answered whether it has it: a
// request that is under way would otherwise be carried out after it.
func (e *Engine) discard(jobID string, registering *registration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.discarding[jobID] != nil {
		return
	}
	removed := make(chan struct{})
	e.discarding[jobID] = removed
	e.done.Go(func() {
		<-registering.done
		if err := e.remove(e.background, jobID); err != nil {
			e.logger.Warn("the job of a sandbox is left to the sweep", "job", jobID, "error", err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.discarding, jobID)
		close(removed)
	})
}

// discarded waits until the job is not being removed: one that is registered again is not
// to go with the one before.
func (e *Engine) discarded(ctx context.Context, jobID string) error {
	e.mu.Lock()
	removed := e.discarding[jobID]
	e.mu.Unlock()
	if removed == nil {
		return nil
	}
	select {
	case <-removed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the slot's last job to be removed: %w", ctx.Err())
	}
}

// Stop implements cluster.Engine.
func (e *Engine) Stop(ctx context.Context, slotID string) error {
	if err := checkID(slotID); err != nil {
		return err
	}
	if err := e.remove(ctx, jobID(slotID)); err != nil {
		return explain("removing the job of a sandbox", err)
	}
	return nil
}

func checkID(slotID string) error {
	if !yurt.ValidSlotID(slotID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "slot_id", "%.80q is not the id of a slot", slotID)
	}
	return nil
}
