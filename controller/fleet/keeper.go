package fleet

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// Store is the part of a [contract.Store] that finds sessions and changes them.
type Store interface {
	contract.ExpiryStore
	Session(ctx context.Context, id string) (yurt.Session, error)
	Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error)
	ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error)
	UnfinishedExecutions(ctx context.Context, sessionID string) ([]yurt.Execution, error)
}

// Placer is the part of a [contract.Placer] that knows nodes and slots.
type Placer interface {
	contract.NodePlacer
	contract.SlotPlacer
	Warnings() []string
}

// Sessions makes and ends sessions.
type Sessions interface {
	// Placing reports whether this controller is making the session's sandbox.
	Placing(id string) bool
	// Fail ends the session as failed, unless it has ended already, and clears up after it.
	Fail(ctx context.Context, id, reason string) error
	// FailIf does so only when holds still says so, in the transaction that ends it.
	FailIf(ctx context.Context, id, reason string, holds func(*yurt.Session) bool) error
	// FollowPause has the sandbox be paused or not, as its session is.
	FollowPause(ctx context.Context, session yurt.Session, sandbox yurt.Sandbox) error
}

// Executions follows executions.
type Executions interface {
	// Busy reports whether this controller follows executions in the session.
	Busy(sessionID string) bool
	// Adopt follows those of a session's unfinished executions that have no follower.
	Adopt(ctx context.Context, session yurt.Session, unfinished []yurt.Execution) error
	// EndOrphans ends those without a follower whose session has ended.
	EndOrphans(ctx context.Context, unfinished []yurt.Execution) error
	// Teardown destroys the sandbox of a session that has ended. Its executions end with the type of error and the reason.
	Teardown(session yurt.Session, errorType, reason string)
	// Trim drops the oldest results beyond a quota, of a session or of all.
	Trim(ctx context.Context, sessionID string, most yurt.Size)
}

// Templates lists every template.
type Templates interface {
	Templates(ctx context.Context) ([]yurt.Template, error)
}

// Config holds the parts and settings of a fleet.
type Config struct {
	Life       *life.Life
	Store      Store
	Shrink     contract.ShrinkStore // nil: the store's file needs no shrinking
	Placer     Placer
	Templates  Templates
	Sessions   Sessions
	Executions Executions
	Deadlines  *Deadlines
	Expired    func()        // called for each session that ran out
	Retention  time.Duration // of ended sessions
	Space      yurt.Size     // of results of all sessions
	Orphans    OrphanPolicy
}

// Keeper keeps sessions, sandboxes and nodes in step. Its [Keeper.Run] does the work.
type Keeper struct {
	life       *life.Life
	store      Store
	shrink     contract.ShrinkStore
	placer     Placer
	sessions   Sessions
	executions Executions
	deadlines  *Deadlines
	notices    *notices
	expired    func()
	retention  time.Duration
	space      yurt.Size

	orphans  *orphans
	suspects map[string]time.Time // sandboxes that the last sweep found without a session; Run's alone
	guard    nodeGuard            // likewise
}

// Nodes serves requests about nodes and the sandboxes on them. Its methods may be called concurrently.
type Nodes struct {
	life      *life.Life
	store     Store
	placer    Placer
	templates Templates
	notices   *notices
	orphans   *orphans
}

// New returns the keeper of a fleet, and the door for requests about it.
func New(config Config) (*Nodes, *Keeper) {
	told := &notices{life: config.Life, store: config.Store, deadlines: config.Deadlines}
	unknown := &orphans{policy: config.Orphans}
	nodes := &Nodes{life: config.Life, store: config.Store, placer: config.Placer, templates: config.Templates, notices: told, orphans: unknown}
	return nodes, &Keeper{
		life: config.Life, store: config.Store, shrink: config.Shrink, placer: config.Placer, sessions: config.Sessions,
		executions: config.Executions, deadlines: config.Deadlines, notices: told, expired: config.Expired, retention: config.Retention,
		space: config.Space, orphans: unknown, guard: newNodeGuard(),
	}
}

// Run recovers the sessions of an earlier life, then ends sessions that run out or
// lose their sandbox, until ctx is done. It is called once.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(access.Systemwide(ctx))
	defer cancel()
	defer context.AfterFunc(k.life.Context(), cancel)()

	watchers := newNodeWatchers(k)
	defer watchers.wait()
	defer cancel() // before the wait: a watcher ends when its context does
	if err := k.life.Members.Beat(ctx); err != nil {
		return err
	}
	if k.life.Members.Leads() {
		k.deadlines.takeSweep() // which this is
		if err := k.reconcile(ctx); err != nil {
			return err
		}
		watchers.refresh(ctx)
	}
	k.life.Recover()
	watchers.tasks.Go(func() { k.life.Members.Run(ctx) })
	k.reap(ctx, watchers)
	return nil
}
