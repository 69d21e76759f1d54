package execution

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const (
	logPage       = 100  // executions that are listed at once
	maxLogged     = 1000 // that are looked at for a log
	maxLogWatches = 64   // executions that one follower watches at once
	// logPoll is how often a follower looks for new executions, which may begin at any
	// controller.
	logPoll = 200 * time.Millisecond
	// logQuiet is how long a running execution must write no output before its output so far is taken to be complete.
	logQuiet = 100 * time.Millisecond
	// logPatience bounds the wait for an execution that never pauses.
	logPatience = 2 * time.Second
)

// Logs returns the last limit bytes of the output of a session's executions, the newest last, and whether there was
// more. A running execution contributes its output so far.
func (r *Runner) Logs(ctx context.Context, sessionID string, limit int) ([]yurt.LogEntry, bool, error) {
	session, list, more, err := r.logged(ctx, sessionID, limit)
	if err != nil {
		return nil, false, err
	}
	tail := logTail{left: limit, cut: more}
	for _, e := range list {
		entries, err := r.logOf(ctx, session, e, tail.left)
		if err != nil {
			return nil, false, err
		}
		if !tail.add(entries) {
			break
		}
	}
	return tail.entries(), tail.cut, nil
}

// logged lists the executions of a session for its log, newest first.
func (r *Runner) logged(ctx context.Context, sessionID string, limit int) (yurt.Session, []yurt.Execution, bool, error) {
	if limit < 1 || limit > yurt.MaxLogBytes {
		return yurt.Session{}, nil, false, yurt.FieldErrorf(yurt.CodeInvalidArgument, "limit", "%d is out of range; give 1 to %d bytes", limit, yurt.MaxLogBytes)
	}
	session, err := r.reach.Session(ctx, sessionID)
	if err != nil {
		return yurt.Session{}, nil, false, err
	}
	var list []yurt.Execution
	for before := (contract.Position{}); len(list) < maxLogged; {
		page, err := r.store.Executions(ctx, sessionID, contract.ExecutionQuery{Before: before, Limit: logPage})
		if err != nil {
			return yurt.Session{}, nil, false, err
		}
		list = append(list, page...)
		if len(page) < logPage {
			return session, list, false, nil
		}
		before = contract.Position{CreatedAt: page[len(page)-1].CreatedAt, ID: page[len(page)-1].ID}
	}
	return session, list, true, nil
}

// logOf returns the output of an execution: of one that has ended the end of each stream, with more than limit bytes where there
// is more.
func (r *Runner) logOf(ctx context.Context, session yurt.Session, e yurt.Execution, limit int) ([]yurt.LogEntry, error) {
	if !e.State.Ended() {
		return r.logSoFar(ctx, session, e.ID)
	}
	e, err := r.store.Execution(ctx, session.ID, e.ID)
	if err != nil || e.Result == nil {
		return nil, err
	}
	var entries []yurt.LogEntry
	for _, stream := range []yurt.EventType{yurt.EventStdout, yurt.EventStderr} {
		size := int64(limit) + utf8.UTFMax
		text, err := e.Result.TextAt(ctx, stream, e.Result.OutputBytes(stream)-size, size)
		if err != nil {
			return nil, err
		}
		if len(text) > 0 {
			entries = append(entries, yurt.LogEntry{ExecutionID: e.ID, Type: stream, At: e.Result.EndedAt, Data: []byte(text)})
		}
	}
	return entries, nil
}

// logSoFar returns the output of a running execution.
func (r *Runner) logSoFar(ctx context.Context, session yurt.Session, id string) ([]yurt.LogEntry, error) {
	watching, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	quiet := time.AfterFunc(logPatience, cancel)
	defer quiet.Stop()
	var entries []yurt.LogEntry
	err := r.WatchExecution(watching, session.ID, id, 0, func(e yurt.Event) error {
		quiet.Reset(logQuiet)
		if entry, ok := logEntry(id, e); ok {
			entries = append(entries, entry)
		}
		return nil
	})
	if watching.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return entries, err
}

func logEntry(executionID string, e yurt.Event) (yurt.LogEntry, bool) {
	return yurt.LogEntry{ExecutionID: executionID, Type: e.Type, At: e.At, Data: e.Data}, e.Type == yurt.EventStdout || e.Type == yurt.EventStderr
}

// logTail collects the end of a log, from its end on.
type logTail struct {
	reversed []yurt.LogEntry
	left     int
	cut      bool
}

// add puts entries before those that are there. It reports whether there is room for
// more.
func (t *logTail) add(entries []yurt.LogEntry) bool {
	for _, e := range slices.Backward(entries) {
		if len(e.Data) > t.left {
			t.cut = true
			rest := e.Data[len(e.Data)-t.left:]
			for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
				rest = rest[1:]
			}
			if e.Data, t.left = rest, 0; len(rest) > 0 {
				t.reversed = append(t.reversed, e)
			}
			return false
		}
		t.left -= len(e.Data)
		t.reversed = append(t.reversed, e)
	}
	return true
}

func (t *logTail) entries() []yurt.LogEntry {
	slices.Reverse(t.reversed)
	return t.reversed
}

// FollowLogs calls each with the last limit bytes of the output of the session's ended executions, with all output of
// those that run, and then with new output as it comes, one call at a time, until the session has ended.
func (r *Runner) FollowLogs(ctx context.Context, sessionID string, limit int, each func(yurt.LogEntry) error) error {
	session, list, _, err := r.logged(ctx, sessionID, limit)
	if err != nil {
		return err
	}
	f := &logFollower{runner: r, id: sessionID, each: each, seen: map[string]bool{}}
	tail, room := logTail{left: limit}, true
	for _, e := range list {
		if f.seen[e.ID] = e.State.Ended(); !f.seen[e.ID] || !room {
			continue
		}
		entries, err := r.logOf(ctx, session, e, tail.left)
		if err != nil {
			return err
		}
		room = tail.add(entries)
	}
	for _, entry := range tail.entries() {
		if err := each(entry); err != nil {
			return err
		}
	}
	return f.run(ctx, session.State.Ended(), list)
}

// logFollower follows the executions of a session.
type logFollower struct {
	runner *Runner
	id     string          // of the session
	seen   map[string]bool // executions

	mu   sync.Mutex
	each func(yurt.LogEntry) error
}

func (f *logFollower) run(ctx context.Context, ended bool, list []yurt.Execution) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxLogWatches)
	for {
		for _, e := range slices.Backward(list) {
			if !f.seen[e.ID] {
				f.seen[e.ID] = true
				group.Go(func() error { return f.watch(ctx, e.ID) })
			}
		}
		if ended || ctx.Err() != nil {
			return group.Wait()
		}
		life.Sleep(ctx, logPoll)
		session, err := f.runner.reach.Session(ctx, f.id)
		if err == nil {
			ended = session.State.Ended()
			list, err = f.fresh(ctx)
		}
		if err != nil {
			cancel()
			return errors.Join(err, group.Wait())
		}
	}
}

// fresh lists the executions that were not seen yet, and maybe others, newest first.
func (f *logFollower) fresh(ctx context.Context) ([]yurt.Execution, error) {
	var list []yurt.Execution
	for before := (contract.Position{}); ; {
		page, err := f.runner.store.Executions(ctx, f.id, contract.ExecutionQuery{Before: before, Limit: logPage})
		if err != nil {
			return nil, err
		}
		list = append(list, page...)
		if len(page) < logPage || f.seen[page[len(page)-1].ID] {
			return list, nil
		}
		before = contract.Position{CreatedAt: page[len(page)-1].CreatedAt, ID: page[len(page)-1].ID}
	}
}

// watch passes on the output of one execution. One that is gone has no output.
func (f *logFollower) watch(ctx context.Context, id string) error {
	err := f.runner.WatchExecution(ctx, f.id, id, 0, func(e yurt.Event) error {
		entry, ok := logEntry(id, e)
		if !ok {
			return nil
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.each(entry)
	})
	if yurt.CodeOf(err) == yurt.CodeExecutionNotFound {
		return nil
	}
	return err
}
