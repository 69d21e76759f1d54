package contract

import (
	"context"
	"errors"
	"time"

	"github.com/yurtrun/yurt"
)

// Store keeps the data that must survive the controller. Its methods may be called concurrently, each is atomic and
// durable against the death of the process, and times come back in UTC with nanoseconds. A store that cannot be
// reached now is a [yurt.CodeUnavailable] error. A missing record is a coded error ([yurt.CodeSessionNotFound],
// [yurt.CodeExecutionNotFound], [yurt.CodeTemplateNotFound]). Package controller/storetest holds every implementation
// to this.
type Store interface {
	SessionStore
	ExpiryStore
	ExecutionStore
	ResultStore
	TemplateStore
	PoolStore
	// Ping returns nil when the store can serve.
	Ping(ctx context.Context) error
}

// OutputError says that a result was not stored since its output could not be read at its node.
type OutputError struct{ Err error }

// Error implements error.
func (e *OutputError) Error() string { return "reading the output of an execution: " + e.Err.Error() }

// Unwrap returns the node's error.
func (e *OutputError) Unwrap() error { return e.Err }

// NewerSchema is the error of a store whose schema a newer version of Yurt made: this version would not maintain the
// new version's data correctly.
func NewerSchema(there, known int64) error {
	return yurt.Errorf(yurt.CodeUnavailable, "the store has schema version %d, which a newer Yurt made; this one knows versions up to %d. Nothing was touched. Start the newer Yurt again, or give a store of its own to this one", there, known)
}

// SessionChange decides a step of a session's life. It runs inside the store's transaction, sees the current session
// and how many of its executions have not ended, and changes the session in place. The returned transitions are
// appended to the session's story; an error rolls everything back and is returned unchanged. It must be quick and must
// not call the store. It may run more than once.
type SessionChange func(s *yurt.Session, running int) ([]yurt.Transition, error)

// IdempotencyKey ties a client's key to the session that its first use made.
type IdempotencyKey struct {
	Key         string
	RequestHash string // of the request that used it first
	SessionID   string
}

// ErrKeyTaken is returned by [SessionStore.CreateSession] when another request
// used the idempotency key first.
var ErrKeyTaken = errors.New("the idempotency key is taken")

// ErrReuseTaken is returned by [SessionStore.CreateSession] when another live session
// has the session's reuse key.
var ErrReuseTaken = errors.New("the session to reuse is there")

// SessionStore keeps sessions.
type SessionStore interface {
	// CreateSession adds s with the first transition of its story. A key that is
	// not nil is unique, and is kept as long as the session. A step from creating to an end drops it, so that a client can
	// repeat a request that failed. A reuse key that is not empty is unique among live sessions.
	CreateSession(ctx context.Context, s yurt.Session, first yurt.Transition, key *IdempotencyKey) error
	// SessionByKey returns the session that key made; ok is false if key was not used.
	SessionByKey(ctx context.Context, key string) (found IdempotencyKey, ok bool, err error)
	Session(ctx context.Context, id string) (yurt.Session, error)
	// Sessions returns the sessions that match query, newest first.
	Sessions(ctx context.Context, query SessionQuery) ([]yurt.Session, error)
	// ChangeSession applies change and returns the session after it.
	ChangeSession(ctx context.Context, id string, change SessionChange) (yurt.Session, error)
	// Transitions returns the story of a session after so many transitions, oldest first. A story grows at its end alone.
	Transitions(ctx context.Context, id string, after int) ([]yurt.Transition, error)
	// CountSessions returns how many sessions are in each state.
	CountSessions(ctx context.Context) (map[yurt.SessionState]int, error)
}

// SessionQuery says which sessions to list. Zero fields do not filter.
type SessionQuery struct {
	Tenant     string // of which; see package controller/tenancy
	IDPrefix   string // of the id, with "ses_"
	TemplateID string
	State      yurt.SessionState
	Live       bool // only those that have not ended
	AgentID    string
	ReuseKey   string
	Metadata   map[string]string // all of these must match
	Created    Period
	Before     Position // only those that come after this one in the list
	Limit      int      // at most so many; 0 is all
}

// ExecutionQuery says which executions of a session to list. Zero fields do not filter.
type ExecutionQuery struct {
	State    yurt.ExecutionState
	Kind     yurt.ExecutionKind
	Language string
	Created  Period
	Before   Position // only those that come after this one in the list
	Limit    int      // at most so many; 0 is all
}

// Period is a time from a moment on and until before another one. A zero time is no bound.
type Period struct{ Since, Until time.Time }

// Position is a place in a list that is ordered newest first, by time of creation
// and then by id.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// IsZero reports whether p is the start of the list.
func (p Position) IsZero() bool { return p.ID == "" }

// ExpiryStore finds sessions and results that have run out.
type ExpiryStore interface {
	// ExpiredSessions returns sessions that have a sandbox (neither being created
	// nor ended) and whose [yurt.Session.Expiry] is not after now, soonest first.
	ExpiredSessions(ctx context.Context, now time.Time, limit int) ([]yurt.Session, error)
	// NextExpiry returns the soonest expiry of all sessions that have a sandbox, or
	// the zero time. It may be too soon for a session that was used, until
	// ExpiredSessions has looked at it.
	NextExpiry(ctx context.Context) (time.Time, error)
	// PurgeSessions removes sessions that ended before the given time, with all
	// that belongs to them, and returns how many.
	PurgeSessions(ctx context.Context, endedBefore time.Time) (int, error)
}

// ExecutionStore keeps executions and their results.
type ExecutionStore interface {
	// BeginExecution adds e, which has not ended, to its session, which change has
	// to allow; change sees e counted as running.
	BeginExecution(ctx context.Context, e yurt.Execution, change SessionChange) (yurt.Session, error)
	// EndExecution stores the result of an execution and applies change to its session; change sees the execution no
	// longer counted. The first result stays: for a second one, ended is false and the store does not change.
	EndExecution(ctx context.Context, id string, result *yurt.Result, change SessionChange) (s yurt.Session, ended bool, err error)
	// Execution returns an execution of a session with its result.
	Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error)
	// LatestExecution returns the execution of a session that began last.
	LatestExecution(ctx context.Context, sessionID string) (yurt.Execution, error)
	// Executions returns a session's executions that match query, newest first, without results.
	Executions(ctx context.Context, sessionID string, query ExecutionQuery) ([]yurt.Execution, error)
	// UnfinishedExecutions returns the executions that have not ended: those of a
	// session, or all when sessionID is empty.
	UnfinishedExecutions(ctx context.Context, sessionID string) ([]yurt.Execution, error)
	// OwnExecution gives an execution that has not ended from one owner to another. It
	// reports false when it has another owner, or has ended.
	OwnExecution(ctx context.Context, id, from, to string) (bool, error)
}

// ResultStore bounds the results that are kept.
type ResultStore interface {
	// TrimResults keeps the newest results that have at most so many bytes together, of a session or, where sessionID is empty,
	// of all. Of each other one it drops the output, the value and the displays, and says so in its Truncated; how the execution
	// ended stays. It returns how many it trimmed.
	TrimResults(ctx context.Context, sessionID string, most int64) (int, error)
	// DeleteResults removes the executions of a session that have ended.
	DeleteResults(ctx context.Context, sessionID string) error
}

// TemplateCheck decides whether a template is stored in place of the one of its name, which is nil if the name is free. It runs inside the
// store's transaction, must be quick and must not call the store. It may run more than once.
type TemplateCheck func(t yurt.Template, there *yurt.Template) error

// TemplateStore keeps the templates that users made.
type TemplateStore interface {
	// PutTemplates adds the templates, all of them or not one, and replaces those of their names, unless check, which may be nil,
	// returns an error, which is returned unchanged.
	PutTemplates(ctx context.Context, templates []yurt.Template, check TemplateCheck) error
	// DeleteTemplate removes a template, and the size that its warm pool was given. One that
	// others extend is a [yurt.CodeTemplateInUse] error that names them.
	DeleteTemplate(ctx context.Context, name string) error
	Template(ctx context.Context, name string) (yurt.Template, error)
	// Templates lists every template, by name.
	Templates(ctx context.Context) ([]yurt.Template, error)
}

// PoolStore keeps the sizes of warm pools that differ from their templates'.
type PoolStore interface {
	// SetPoolSize gives the warm pool of a template a size.
	SetPoolSize(ctx context.Context, template string, size yurt.PoolSize) error
	// UnsetPoolSize drops the size of a template's, if it was given one.
	UnsetPoolSize(ctx context.Context, template string) error
	// PoolSizes returns the sizes that were given, by template.
	PoolSizes(ctx context.Context) (map[string]yurt.PoolSize, error)
}

// ClockStore is a [Store] with a clock of its own, which all controllers of the store are compared with.
type ClockStore interface {
	StoreClock(ctx context.Context) (time.Time, error)
}

// ShrinkStore is a [Store] whose file keeps its size until it is told to return its free space.
type ShrinkStore interface {
	Shrink(ctx context.Context) error
}
