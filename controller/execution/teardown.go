package execution

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const (
	teardownLimit = time.Minute // for destroying a sandbox
	// askLimit is how long a node that does not answer is asked again; after that a sweep destroys the sandbox.
	askLimit     = 30 * time.Second
	lostGrace    = 2 * time.Second // for a node to report the results of a sandbox that is gone
	watcherGrace = 5 * time.Second // for watchers to read the rest before an ephemeral sandbox goes
	collectFirst = time.Second     // for a node to begin to tell of an execution
	collectQuiet = 10 * time.Millisecond
	collectTries = 25 // times collectQuiet
)

// Teardown destroys the sandbox of a session that has ended, in the background. Its executions end with errorType and
// reason, and keep their output so far. A controller that is closed leaves it to the sweep of the next life.
func (t *Tracker) Teardown(session yurt.Session, errorType, reason string) {
	if session.Placement.Node == "" {
		return // not placed yet: the placing request finds it ended and comes back
	}
	cause := &endCause{errorType, reason}
	running := t.of(session.ID)
	for _, run := range running {
		run.endWith(cause)
	}
	t.life.ClearUp(func(ctx context.Context) {
		work, cancel := life.Detached(ctx, teardownLimit)
		defer cancel()
		if len(running) > 0 {
			defer t.collectOutput(work, running)()
		}
		t.destroySandbox(work, session)
		grace, stop := context.WithTimeout(work, lostGrace)
		defer stop()
		for _, run := range running {
			select {
			case <-run.done:
			case <-grace.Done():
				run.cancel(cause)
			}
		}
	})
}

// destroySandbox asks the node to destroy the session's sandbox, and goes on to ask one
// that does not answer. Any other failure is left to the sweep, which finds a sandbox whose
// session has ended.
func (t *Tracker) destroySandbox(ctx context.Context, session yurt.Session) {
	if err := t.destroyAtNode(ctx, session); err != nil {
		t.life.Log.Error("destroying a sandbox", "session", session.ID, "sandbox", session.SandboxID, "error", err)
		if unanswered(err) {
			t.life.Background(func(ctx context.Context) { t.destroyLater(ctx, session) })
		}
	}
	if err := t.placer.Release(ctx, session); err != nil {
		t.life.Log.Error("releasing the slot of a session", "session", session.ID, "error", err)
	}
}

func (t *Tracker) destroyAtNode(ctx context.Context, session yurt.Session) error {
	node, err := t.placer.Node(ctx, session.Placement.Node)
	if err != nil {
		return err
	}
	return node.DestroySandbox(ctx, session.SandboxID)
}

// destroyLater asks a node again that did not answer, such as one whose executor is being
// started again, until it does or the sweep's time has come.
func (t *Tracker) destroyLater(ctx context.Context, session yurt.Session) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for ctx.Err() == nil {
		life.Sleep(ctx, nodeRetry)
		err := t.destroyAtNode(ctx, session)
		if unanswered(err) {
			continue
		}
		if err != nil {
			t.life.Log.Error("destroying a sandbox", "session", session.ID, "sandbox", session.SandboxID, "error", err)
		}
		return
	}
}

// destroyAfterWatchers destroys the sandbox of an ephemeral session once the watchers of its execution have read the
// rest of it.
func (t *Tracker) destroyAfterWatchers(session yurt.Session, run *inflight) {
	t.life.ClearUp(func(ctx context.Context) {
		for deadline := time.Now().Add(watcherGrace); run.watched() && time.Now().Before(deadline) && ctx.Err() == nil; {
			life.Sleep(ctx, collectQuiet)
		}
		work, cancel := life.Detached(ctx, teardownLimit)
		defer cancel()
		t.destroySandbox(work, session)
	})
}

func (l *inflight) watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watchers > 0
}

func (l *inflight) watch(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers += by
}

// collectOutput reads the output of the executions so far, and goes on reading until stop is called. It returns after
// a moment without new output.
func (t *Tracker) collectOutput(ctx context.Context, running []*inflight) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		readers sync.WaitGroup
		events  atomic.Int64
		begun   = make(chan struct{}, len(running))
	)
	for _, run := range running {
		collected := &outputs{limit: int(run.limit)}
		run.mu.Lock()
		run.partial = collected
		run.mu.Unlock()
		readers.Go(func() {
			first := sync.OnceFunc(func() { begun <- struct{}{} })
			defer first()
			node, sandbox := run.place()
			// The error is the expected end of the sandbox.
			_ = node.WatchExecution(ctx, sandbox, run.record.ID, 0, func(e yurt.Event) error {
				events.Add(1)
				collected.add(e)
				first()
				return nil
			})
		})
	}
	late, enough := context.WithTimeout(ctx, collectFirst)
	defer enough()
	for range running {
		select {
		case <-begun:
		case <-late.Done():
		}
	}
	for seen, try := int64(-1), 0; seen != events.Load() && try < collectTries; try++ {
		seen = events.Load()
		life.Sleep(ctx, collectQuiet)
	}
	return func() {
		cancel()
		readers.Wait()
	}
}

// outputs collects the output of an execution up to a limit for each stream.
type outputs struct {
	mu             sync.Mutex
	limit          int
	stdout, stderr []byte
	written        [2]int64
	truncated      yurt.Truncated
	events         yurt.OutlineBuilder
}

func (o *outputs) add(e yurt.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events.Add(e)
	switch e.Type {
	case yurt.EventStdout:
		o.written[0] += int64(len(e.Data))
		o.stdout, o.truncated.Stdout = appendUpTo(o.stdout, e.Data, o.limit)
	case yurt.EventStderr:
		o.written[1] += int64(len(e.Data))
		o.stderr, o.truncated.Stderr = appendUpTo(o.stderr, e.Data, o.limit)
	}
}

func appendUpTo(buf, data []byte, limit int) (result []byte, truncated bool) {
	if room := limit - len(buf); len(data) > room {
		return append(buf, data[:room]...), true
	}
	return append(buf, data...), false
}

// fill writes the collected output into the result.
func (o *outputs) fill(result *yurt.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	result.Stdout, result.Stderr = strings.ToValidUTF8(string(o.stdout), "\ufffd"), strings.ToValidUTF8(string(o.stderr), "\ufffd")
	result.Truncated = o.truncated
	result.Metrics.StdoutBytes, result.Metrics.StderrBytes = o.written[0], o.written[1]
	result.Outline = o.events.Outline(result)
}
