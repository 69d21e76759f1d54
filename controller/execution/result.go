package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const (
	finishTries = 5           // to store a result
	finishRetry = time.Second // between them
)

// explained says in a result that the sandbox was taken away when that is so.
func (l *inflight) explained(result *yurt.Result) *yurt.Result {
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
func (l *inflight) cause(err error) *endCause {
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
func (l *inflight) lost(cause *endCause, now time.Time) *yurt.Result {
	l.mu.Lock()
	partial := l.partial
	l.mu.Unlock()
	result := failedResult(cause.errorType, cause.reason, l.record.CreatedAt, now)
	if partial != nil {
		partial.Fill(result)
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
func (t *Tracker) finish(run *inflight, result *yurt.Result, after afterEnd) {
	result, now := wellFormed(result), t.life.Clock.Now()
	record := run.record
	record.State, record.Result = result.State(), result
	session, ended := t.storeResult(run, result, func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		return t.afterEnd(s, running, record.ID, result, after)
	})
	if !ended {
		if first, err := t.store.Execution(context.WithoutCancel(run.ctx), record.SessionID, record.ID); err == nil && first.State.Ended() {
			record = first // another result was stored before
		}
		run.tell(record)
		t.drop(run)
		return
	}
	t.ended(record)
	t.boundResults(context.WithoutCancel(run.ctx), record.SessionID, result)
	if result.Output != nil { // from now on it is read from the store: the node forgets it
		if stored, err := t.store.Execution(context.WithoutCancel(run.ctx), record.SessionID, record.ID); err == nil {
			record.Result = stored.Result
		}
	}
	run.tell(record)
	t.life.Log.Info("execution ended", "session", record.SessionID, "execution", record.ID, "kind", record.Kind,
		"exit_code", result.ExitCode, "error_type", errorTypeOf(result), "duration_ms", result.Metrics.DurationMS)
	if session.State.Ended() {
		t.kept.forget(session.ID)
		t.destroyAfterWatchers(session, run)
	} else {
		t.deadlines.Arm(session)
		node, sandbox := run.place()
		t.deadlines.ForgetLater(node, sandbox, record.ID, now)
	}
	t.drop(run)
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

// storeResult stores the result and the step that the session takes with it. It waits for a store that is away or has no
// room; a full disk soon gets the result without its output, for which there is room. When the controller is closed
// meanwhile, the next one that follows the execution gets the result from the node. It tries a few times again when the
// store fails otherwise; then only the callers that wait now have the result, and the next sweep judges the session.
func (t *Tracker) storeResult(run *inflight, result *yurt.Result, change contract.SessionChange) (yurt.Session, bool) {
	for try := 1; ; try++ {
		session, ended, err := t.storeOnce(run, result, change)
		if err == nil {
			return session, ended
		}
		t.life.Log.Error("storing a result", "session", run.record.SessionID, "execution", run.record.ID, "try", try, "error", err)
		if lost := (*contract.OutputError)(nil); errors.As(err, &lost) && !unanswered(lost.Err) {
			result = withoutOutput(result)
			continue
		}
		if yurt.CodeOf(err) == yurt.CodeDiskFull && try == finishTries {
			result = small(result)
		}
		passes := slices.Contains([]yurt.Code{yurt.CodeUnavailable, yurt.CodeDiskFull}, yurt.CodeOf(err))
		if try >= finishTries && !passes || t.life.Context().Err() != nil {
			return yurt.Session{}, false
		}
		life.Sleep(t.life.Context(), finishRetry)
	}
}

// withoutOutput returns the result without its output. Its Truncated names each stream that had some.
func withoutOutput(result *yurt.Result) *yurt.Result {
	rest := *result
	rest.Stdout, rest.Stderr, rest.Output, rest.Outline = "", "", nil, nil
	rest.Truncated.Stdout = rest.Truncated.Stdout || result.OutputBytes(yurt.EventStdout) > 0
	rest.Truncated.Stderr = rest.Truncated.Stderr || result.OutputBytes(yurt.EventStderr) > 0
	return &rest
}

// small returns a result that a full disk has room for: without output, value and displays. Its Truncated names each of them that
// there was.
func small(result *yurt.Result) *yurt.Result {
	rest := withoutOutput(result)
	rest.Truncated.Result = rest.Truncated.Result || len(result.Result) > 0
	rest.Truncated.Results = rest.Truncated.Results || len(result.Displays) > 0
	rest.Result, rest.Displays, rest.MainDisplay = nil, nil, nil
	return rest
}

func (t *Tracker) storeOnce(run *inflight, result *yurt.Result, change contract.SessionChange) (yurt.Session, bool, error) {
	work, cancel := life.Detached(run.ctx, startLimit)
	defer cancel()
	return t.store.EndExecution(work, run.record.ID, result, change)
}

// afterEnd decides the step of a session in which an execution ended.
func (t *Tracker) afterEnd(s *yurt.Session, running int, executionID string, result *yurt.Result, after afterEnd) ([]yurt.Transition, error) {
	if s.State.Ended() {
		return nil, nil
	}
	now := t.life.Now()
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
