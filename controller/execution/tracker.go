package execution

import (
	"context"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
	"github.com/yurtrun/yurt/controller/internal/reach"
)

// Store is the part of a [contract.Store] that knows executions and their sessions.
type Store interface {
	contract.ExecutionStore
	Session(ctx context.Context, id string) (yurt.Session, error)
	ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error)
	TrimResults(ctx context.Context, sessionID string, most int64) (int, error)
}

// Placer is the part of a [contract.Placer] that finds nodes, places a session again and releases what it had.
type Placer interface {
	Place(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints) (yurt.Sandbox, yurt.Placement, error)
	Node(ctx context.Context, name string) (contract.Node, error)
	Release(ctx context.Context, session yurt.Session) error
}

// Templates knows the templates of sessions and the languages of nodes.
type Templates interface {
	Template(ctx context.Context, name string) (yurt.Template, error)
	Templates(ctx context.Context) ([]yurt.Template, error)
	// PooledTemplate returns a template with the present size of its warm pool.
	PooledTemplate(ctx context.Context, name string) (yurt.Template, error)
	Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error)
}

// Deadlines looks after the times at which something falls due.
type Deadlines interface {
	// Arm has the session looked at when it runs out.
	Arm(session yurt.Session)
	// ForgetLater has the node forget an ended execution, once its stream was replayed for long enough.
	ForgetLater(node contract.ExecutionNode, sandboxID, executionID string, now time.Time)
}

// Config holds the parts that executions need.
type Config struct {
	Life      *life.Life
	Reach     *reach.Reach
	Store     Store
	Placer    Placer
	Templates Templates
	Deadlines Deadlines
	Ended     func(yurt.Execution) // told of each execution that has ended
	Quota     yurt.Size            // of the results that are kept of a session
	// CancelGrace is how long an execution that is cancelled has to end after the interrupt.
	CancelGrace time.Duration
}

// Tracker has the executions that this controller follows. Its methods may be called concurrently.
type Tracker struct {
	life      *life.Life
	store     Store
	placer    Placer
	templates Templates
	deadlines Deadlines
	ended     func(yurt.Execution)
	quota     yurt.Size

	mu       sync.Mutex
	inflight map[string]*inflight // by id
}

// New returns a runner of executions and the tracker that follows them.
func New(config Config) (*Runner, *Tracker) {
	t := &Tracker{
		life: config.Life, store: config.Store, placer: config.Placer, templates: config.Templates, deadlines: config.Deadlines,
		ended: config.Ended, quota: config.Quota, inflight: map[string]*inflight{},
	}
	return &Runner{
		tracker: t, life: config.Life, reach: config.Reach, store: config.Store, templates: config.Templates, cancelGrace: config.CancelGrace,
	}, t
}

// Runner starts executions in sessions and acts on them. Its methods may be called concurrently.
type Runner struct {
	tracker   *Tracker
	life      *life.Life
	reach     *reach.Reach
	store     Store
	templates Templates

	cancelGrace time.Duration // see CancelExecution
}
