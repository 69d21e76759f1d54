package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// nodeRetry is the pause before a node that does not answer is asked again.
const nodeRetry = time.Second

// inflight is an execution that this controller follows until its end.
type inflight struct {
	record yurt.Execution // as it began
	tenant string         // of its session
	limit  yurt.Size      // of each stream of output

	ctx    context.Context // ends with a cause that is an *endCause, or with the controller
	cancel context.CancelCauseFunc
	told   chan struct{} // closed once the end is stored; waiters may have it
	done   chan struct{} // closed once the controller no longer follows it

	mu       sync.Mutex
	node     contract.Node
	sandbox  string
	begun    func(context.Context) (*yurt.Result, error) // waits for the answer of the call that started it, see [RunNode]
	ending   *endCause                                   // why its session ended while it ran
	partial  *outputs                                    // the output that was collected when the teardown began
	ended    yurt.Execution
	watchers int
}

// endCause says why a session's end also ended an execution.
type endCause struct{ errorType, reason string }

func (e *endCause) Error() string { return e.reason }

// register makes the record of an execution that is followed from now on.
func (t *Tracker) register(session yurt.Session, node contract.Node, record yurt.Execution, limit yurt.Size) *inflight {
	ctx, cancel := context.WithCancelCause(t.life.Context())
	run := &inflight{
		record: record, tenant: session.Tenant, sandbox: session.SandboxID, node: node, limit: limit,
		ctx: ctx, cancel: cancel, told: make(chan struct{}), done: make(chan struct{}),
	}
	t.mu.Lock()
	t.inflight[record.ID] = run
	t.mu.Unlock()
	return run
}

// drop ends the following of an execution and wakes its waiting callers.
func (t *Tracker) drop(run *inflight) {
	close(run.done)
	t.mu.Lock()
	delete(t.inflight, run.record.ID)
	t.mu.Unlock()
	run.cancel(nil)
}

func (t *Tracker) find(sessionID, id string) *inflight {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run := t.inflight[id]; run != nil && run.record.SessionID == sessionID {
		return run
	}
	return nil
}

func (t *Tracker) of(sessionID string) []*inflight {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*inflight
	for _, run := range t.inflight {
		if run.record.SessionID == sessionID {
			list = append(list, run)
		}
	}
	return list
}

// tell delivers the end to waiting callers. Only the first call counts.
func (l *inflight) tell(ended yurt.Execution) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.ID == "" {
		l.ended = ended
		close(l.told)
	}
}

// end returns the execution that tell delivered.
func (l *inflight) end() yurt.Execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// waitLive returns the execution once all callers may see its end.
func (t *Tracker) wait(ctx context.Context, run *inflight) (yurt.Execution, error) {
	select {
	case <-run.told:
		return run.end(), nil
	case <-run.done:
		return run.end(), nil
	case <-ctx.Done():
		return yurt.Execution{}, ctx.Err()
	case <-t.life.Context().Done():
		return yurt.Execution{}, yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down; execution %s goes on, ask for its result later", run.record.ID)
	}
}

// place returns where it runs.
func (l *inflight) place() (contract.Node, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node, l.sandbox
}

// move says that it is started elsewhere.
func (l *inflight) move(node contract.Node, sandboxID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node, l.sandbox = node, sandboxID
}

// start starts it at a node.
func (l *inflight) start(ctx context.Context, node contract.Node, sandboxID string, spec yurt.ExecutionSpec) error {
	begun, err := node.RunExecution(ctx, sandboxID, spec)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = begun
	return nil
}

// wait returns the result once its node has it.
func (l *inflight) wait() (*yurt.Result, error) {
	l.mu.Lock()
	node, sandbox, begun := l.node, l.sandbox, l.begun
	l.begun = nil
	l.mu.Unlock()
	if begun == nil {
		begun = func(ctx context.Context) (*yurt.Result, error) { return node.AwaitExecution(ctx, sandbox, l.record.ID) }
	}
	return begun(l.ctx)
}

// leave ends the following of one that goes on at its node.
func (l *inflight) leave() {
	l.cancel(nil)
	_, _ = l.wait() // at once, with the error that it was left
}

// endWith notes why the session ended, for the first caller.
func (l *inflight) endWith(cause *endCause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending == nil {
		l.ending = cause
	}
}

// follow waits for the end of an execution and stores it. When the controller is
// closed first, the next life finds the execution unfinished and follows it.
func (t *Tracker) follow(run *inflight) {
	if result := t.awaitResult(run); result != nil {
		t.finish(run, result, afterExecution)
		return
	}
	run.cancel(nil)
}

// causeOf says why an execution ended whose session has.
func causeOf(session yurt.Session) *endCause {
	if session.State == yurt.SessionFailed {
		return &endCause{yurt.ErrorTypeSandboxLost, session.Reason}
	}
	return &endCause{yurt.ErrorTypeSessionEnded, "the session ended while it ran: " + session.Reason}
}

// learnEnd notes why the session ended, if another controller ended it, and reports
// whether one did.
func (t *Tracker) learnEnd(run *inflight) bool {
	if !t.life.Members.Shared() {
		return false
	}
	work, cancel := life.Detached(run.ctx, startLimit)
	defer cancel()
	session, err := t.store.Session(work, run.record.SessionID)
	if err != nil || !session.State.Ended() {
		return false
	}
	run.endWith(causeOf(session))
	return true
}

// awaitResult asks the node for the result, or makes one when the node has lost it.
// It returns nil when the controller is closed.
func (t *Tracker) awaitResult(run *inflight) *yurt.Result {
	for {
		result, err := run.wait()
		if err == nil {
			if tookAway(result) {
				t.learnEnd(run)
			}
			return run.explained(result)
		}
		var cause *endCause
		switch {
		case errors.As(context.Cause(run.ctx), &cause):
			return run.lost(cause, t.life.Now())
		case run.ctx.Err() != nil:
			return nil
		case unanswered(err):
			if t.learnEnd(run) || t.nodeIsLost(run) {
				return run.lost(run.cause(err), t.life.Now())
			}
			life.Sleep(run.ctx, nodeRetry)
		default:
			t.learnEnd(run)
			return run.lost(run.cause(err), t.life.Now())
		}
	}
}

// unanswered reports whether a node did not answer although the caller still waits. A call is cancelled with its
// connection when the node has a new address.
func unanswered(err error) bool {
	code := yurt.CodeOf(err)
	return code == yurt.CodeUnavailable || code == yurt.CodeCanceled
}
