package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const (
	finishTries = 5           // to store a result
	finishRetry = time.Second // between them
	nodeRetry   = time.Second // towards a node that does not answer
)

// liveExecution is an execution that this controller follows until its end.
type liveExecution struct {
	record yurt.Execution // as it began
	tenant string         // of its session
	limit  yurt.Size      // of each stream of output

	ctx    context.Context // ends with a cause that is an *endCause, or with the controller
	cancel context.CancelCauseFunc
	told   chan struct{} // closed once the end is stored; waiters may have it
	done   chan struct{} // closed once the controller no longer follows it

	mu       sync.Mutex
	node     Node
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
func (c *Controller) register(session yurt.Session, node Node, record yurt.Execution, limit yurt.Size) *liveExecution {
	ctx, cancel := context.WithCancelCause(c.life.Context())
	live := &liveExecution{
		record: record, tenant: session.Tenant, sandbox: session.SandboxID, node: node, limit: limit,
		ctx: ctx, cancel: cancel, told: make(chan struct{}), done: make(chan struct{}),
	}
	c.mu.Lock()
	c.live[record.ID] = live
	c.mu.Unlock()
	return live
}

// drop ends the following of an execution and wakes its waiting callers.
func (c *Controller) drop(live *liveExecution) {
	close(live.done)
	c.mu.Lock()
	delete(c.live, live.record.ID)
	c.mu.Unlock()
	live.cancel(nil)
}

func (c *Controller) liveExecution(sessionID, id string) *liveExecution {
	c.mu.Lock()
	defer c.mu.Unlock()
	if live := c.live[id]; live != nil && live.record.SessionID == sessionID {
		return live
	}
	return nil
}

func (c *Controller) liveExecutionsOf(sessionID string) []*liveExecution {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*liveExecution
	for _, live := range c.live {
		if live.record.SessionID == sessionID {
			list = append(list, live)
		}
	}
	return list
}

// tell delivers the end to waiting callers. Only the first call counts.
func (l *liveExecution) tell(ended yurt.Execution) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.ID == "" {
		l.ended = ended
		close(l.told)
	}
}

// end returns the execution that tell delivered.
func (l *liveExecution) end() yurt.Execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// waitLive returns the execution once all callers may see its end.
func (c *Controller) waitLive(ctx context.Context, live *liveExecution) (yurt.Execution, error) {
	select {
	case <-live.told:
		return live.end(), nil
	case <-live.done:
		return live.end(), nil
	case <-ctx.Done():
		return yurt.Execution{}, ctx.Err()
	case <-c.life.Context().Done():
		return yurt.Execution{}, yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down; execution %s goes on, ask for its result later", live.record.ID)
	}
}

// place returns where it runs.
func (l *liveExecution) place() (Node, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node, l.sandbox
}

// move says that it is started elsewhere.
func (l *liveExecution) move(node Node, sandboxID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node, l.sandbox = node, sandboxID
}

// start starts it at a node.
func (l *liveExecution) start(ctx context.Context, node Node, sandboxID string, spec yurt.ExecutionSpec) error {
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
func (l *liveExecution) wait() (*yurt.Result, error) {
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
func (l *liveExecution) leave() {
	l.cancel(nil)
	_, _ = l.wait() // at once, with the error that it was left
}

// endWith notes why the session ended, for the first caller.
func (l *liveExecution) endWith(cause *endCause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending == nil {
		l.ending = cause
	}
}

// follow waits for the end of an execution and stores it. When the controller is
// closed first, the next life finds the execution unfinished and follows it.
func (c *Controller) follow(live *liveExecution) {
	if result := c.awaitResult(live); result != nil {
		c.finish(live, result, afterExecution)
		return
	}
	live.cancel(nil)
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
func (c *Controller) learnEnd(live *liveExecution) bool {
	if !c.life.Members.Shared() {
		return false
	}
	work, cancel := life.Detached(live.ctx, startLimit)
	defer cancel()
	session, err := c.store.Session(work, live.record.SessionID)
	if err != nil || !session.State.Ended() {
		return false
	}
	live.endWith(causeOf(session))
	return true
}

// awaitResult asks the node for the result, or makes one when the node has lost it.
// It returns nil when the controller is closed.
func (c *Controller) awaitResult(live *liveExecution) *yurt.Result {
	for {
		result, err := live.wait()
		if err == nil {
			if tookAway(result) {
				c.learnEnd(live)
			}
			return live.explained(result)
		}
		var cause *endCause
		switch {
		case errors.As(context.Cause(live.ctx), &cause):
			return live.lost(cause, c.life.Now())
		case live.ctx.Err() != nil:
			return nil
		case unanswered(err):
			if c.learnEnd(live) || c.nodeIsLost(live) {
				return live.lost(live.cause(err), c.life.Now())
			}
			life.Sleep(live.ctx, nodeRetry)
		default:
			c.learnEnd(live)
			return live.lost(live.cause(err), c.life.Now())
		}
	}
}

// unanswered reports whether a node did not answer although the caller still waits. A call is cancelled with its
// connection when the node has a new address.
func unanswered(err error) bool {
	code := yurt.CodeOf(err)
	return code == yurt.CodeUnavailable || code == yurt.CodeCanceled
}

// explained says in a result that the sandbox was taken away when that is so.
func (l *liveExecution) explained(result *yurt.Result) *yurt.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending != nil && tookAway(result) {
		explained := *result // the node's own stays as it is
		explained.Error = &yurt.ExecutionError{Type: l.ending.errorType, Message: l.ending.reason, Stacktrace: []string{}}
		return &explained
	}
	return result
}

// tookAway reports whether an execution ended in a way that the end of its sandbox
// explains.
func tookAway(result *yurt.Result) bool {
	return slices.Contains([]string{yurt.ErrorTypeSandboxLost, yurt.ErrorTypeSandboxFailed, yurt.ErrorTypeSignaled}, errorTypeOf(result))
}

// cause explains why the node has no result.
func (l *liveExecution) cause(err error) *endCause {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending != nil {
		return l.ending
	}
	switch yurt.CodeOf(err) {
	case yurt.CodeExecutionNotFound:
		return &endCause{yurt.ErrorTypeSandboxLost, "it was interrupted by a restart and its node does not know it"}
	case yurt.CodeSandboxNotFound:
		return &endCause{yurt.ErrorTypeSandboxLost, "its sandbox is gone"}
	default:
		return &endCause{yurt.ErrorTypeSandboxLost, "its node lost it: " + err.Error()}
	}
}

// lost is the result of an execution whose end is unknown, with the output that was collected.
func (l *liveExecution) lost(cause *endCause, now time.Time) *yurt.Result {
	l.mu.Lock()
	partial := l.partial
	l.mu.Unlock()
	result := failedResult(cause.errorType, cause.reason, l.record.CreatedAt, now)
	if partial != nil {
		partial.fill(result)
	}
	return result
}

// notStarted is the result of an execution that its node refused.
func notStarted(err error, now time.Time) *yurt.Result {
	errorType := yurt.ErrorTypeSandboxFailed
	switch yurt.CodeOf(err) {
	case yurt.CodeRuntimeUnavailable, yurt.CodeRuntimeIncompatible, yurt.CodeLanguageNotSupported:
		errorType = yurt.ErrorTypeRuntimeUnavailable
	case yurt.CodeSandboxNotFound:
		errorType = yurt.ErrorTypeSandboxLost
	}
	return failedResult(errorType, "it could not be started: "+err.Error(), now, now)
}

func failedResult(errorType, message string, started, ended time.Time) *yurt.Result {
	if ended.Before(started) { // by the clock of an earlier life
		ended = started
	}
	return &yurt.Result{
		ExitCode:  yurt.ExecutionExitSignal + 9, // as if killed, which it was
		Error:     &yurt.ExecutionError{Type: errorType, Message: message, Stacktrace: []string{}},
		Metrics:   yurt.Metrics{DurationMS: float64(ended.Sub(started)) / float64(time.Millisecond)},
		Artifacts: []yurt.Artifact{},
		StartedAt: started,
		EndedAt:   ended,
	}
}

// afterEnd is the effect on the session when an execution in it ended.
type afterEnd int

const (
	afterExecution afterEnd = iota // an ephemeral session ends
	keepSession                    // it never ran: the session stays as it was
)

// finish stores the result, moves the session on, and then tells the callers that wait.
func (c *Controller) finish(live *liveExecution, result *yurt.Result, after afterEnd) {
	result, now := wellFormed(result), c.life.Clock.Now()
	record := live.record
	record.State, record.Result = result.State(), result
	session, ended := c.storeResult(live, result, func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		return c.afterEnd(s, running, record.ID, result, after)
	})
	if !ended {
		if first, err := c.store.Execution(context.WithoutCancel(live.ctx), record.SessionID, record.ID); err == nil && first.State.Ended() {
			record = first // another result was stored before
		}
		live.tell(record)
		c.drop(live)
		return
	}
	c.metrics.executionEnded(record)
	if result.OutputBytes(yurt.EventStdout)+result.OutputBytes(yurt.EventStderr) > yurt.InlineOutput {
		trimResults(context.WithoutCancel(live.ctx), c, record.SessionID, c.quota)
	}
	if result.Output != nil { // from now on it is read from the store: the node forgets it
		if stored, err := c.store.Execution(context.WithoutCancel(live.ctx), record.SessionID, record.ID); err == nil {
			record.Result = stored.Result
		}
	}
	live.tell(record)
	c.life.Log.Info("execution ended", "session", record.SessionID, "execution", record.ID, "kind", record.Kind,
		"exit_code", result.ExitCode, "error_type", errorTypeOf(result), "duration_ms", result.Metrics.DurationMS)
	if session.State.Ended() {
		c.destroyAfterWatchers(session, live)
	} else {
		c.reaper.arm(session)
		c.reaper.forgetLater(live, now)
	}
	c.drop(live)
}

// wellFormed returns the result in the form that every reader may rely on: empty lists, and a value that is JSON or null.
func wellFormed(result *yurt.Result) *yurt.Result {
	r := *result
	if r.Artifacts == nil {
		r.Artifacts = []yurt.Artifact{}
	}
	if r.Error != nil && r.Error.Stacktrace == nil {
		failure := *r.Error
		failure.Stacktrace = []string{}
		r.Error = &failure
	}
	if len(r.Result) > 0 && !json.Valid(r.Result) {
		r.Result = nil
		r.Error = cmp.Or(r.Error, &yurt.ExecutionError{Type: yurt.ErrorTypeNotSerializable, Message: "the result is not JSON", Stacktrace: []string{}})
	}
	return &r
}

func errorTypeOf(result *yurt.Result) string {
	if result.Error == nil {
		return ""
	}
	return result.Error.Type
}

// storeResult stores the result and the step that the session takes with it. It waits for a store that is away, or has no
// room; when the controller is closed meanwhile, the next one that follows the execution gets the result from the node. It
// tries a few times again when the store fails otherwise; then only the callers that wait now have the result, and the next
// sweep judges the session.
func (c *Controller) storeResult(live *liveExecution, result *yurt.Result, change SessionChange) (yurt.Session, bool) {
	for try := 1; ; try++ {
		session, ended, err := c.storeOnce(live, result, change)
		if err == nil {
			return session, ended
		}
		c.life.Log.Error("storing a result", "session", live.record.SessionID, "execution", live.record.ID, "try", try, "error", err)
		if lost := (*OutputError)(nil); errors.As(err, &lost) && !unanswered(lost.Err) {
			result = withoutOutput(result)
			continue
		}
		passes := slices.Contains([]yurt.Code{yurt.CodeUnavailable, yurt.CodeDiskFull}, yurt.CodeOf(err))
		if try >= finishTries && !passes || c.life.Context().Err() != nil {
			return yurt.Session{}, false
		}
		life.Sleep(c.life.Context(), finishRetry)
	}
}

// withoutOutput returns a result whose node has lost the output, which it says of each stream that had some.
func withoutOutput(result *yurt.Result) *yurt.Result {
	rest := *result
	rest.Stdout, rest.Stderr, rest.Output, rest.Outline = "", "", nil, nil
	rest.Truncated.Stdout = rest.Truncated.Stdout || result.OutputBytes(yurt.EventStdout) > 0
	rest.Truncated.Stderr = rest.Truncated.Stderr || result.OutputBytes(yurt.EventStderr) > 0
	return &rest
}

func (c *Controller) storeOnce(live *liveExecution, result *yurt.Result, change SessionChange) (yurt.Session, bool, error) {
	work, cancel := life.Detached(live.ctx, startLimit)
	defer cancel()
	return c.store.EndExecution(work, live.record.ID, result, change)
}

// afterEnd decides the step of a session in which an execution ended.
func (c *Controller) afterEnd(s *yurt.Session, running int, executionID string, result *yurt.Result, after afterEnd) ([]yurt.Transition, error) {
	if s.State.Ended() {
		return nil, nil
	}
	now := c.life.Now()
	s.ActiveAt = now
	to, reason := yurt.SessionReady, "execution "+executionID+" ended"
	switch {
	case s.Mode == yurt.ModeEphemeral && after == afterExecution && errorTypeOf(result) == yurt.ErrorTypeSandboxLost:
		to, reason = yurt.SessionFailed, "its sandbox was lost: "+result.Error.Message
	case s.Mode == yurt.ModeEphemeral && after == afterExecution:
		to, reason = yurt.SessionTerminated, "ephemeral: its one execution ended"
	case running > 0 || s.State != yurt.SessionRunning:
		return nil, nil
	case after == keepSession:
		reason = "execution " + executionID + " could not be started"
	}
	change, err := s.Transition(to, reason, now)
	return []yurt.Transition{change}, err
}
