package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/logfiles"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/plugins"
)

// Run is the live handle of an execution; its lasting state is in its log.
type Run struct {
	Sandbox   *Sandbox
	Record    Record
	Log       *runlog.Log
	usage     *broker.Meter // nil if it has not begun
	StartedAt time.Time
	Phases    *sandbox.Phases
	timedOut  atomic.Bool
	killing   sync.Mutex    // held while its processes are being killed
	stream    *stream       // nil unless it is streamed
	writing   chan struct{} // holds a value while somebody writes to its stdin
	Clock     clock
	logs      *logfiles.Writer             // nil unless its output goes to log files; for the goroutine that follows it
	controls  uint64                       // chunks in the log of a run whose output goes to log files
	language  string                       // whose zygote may fork the process; "" if it is not forked
	failure   *plugins.Failure             // for the language's runtime to explain, set by judge
	out       atomic.Pointer[initd.Output] // nil before there is a process
	// CancelInstall ends the wait for packages; nil before and after that.
	CancelInstall atomic.Pointer[context.CancelFunc]

	done   chan struct{} // closed when it has ended
	result *yurt.Result  // nil where it is only in the log, see outcome
}

func newRun(s *Sandbox, record Record) *Run {
	r := &Run{
		Sandbox: s, Record: record,
		StartedAt: time.Now(), done: make(chan struct{}),
		writing: make(chan struct{}, 1),
	}
	if record.Streamed {
		r.stream = newStream()
	}
	return r
}

// Launch starts the run's process and follows it in the background. A command
// that cannot be started is a result; a sandbox that cannot start one is an error.
func (e *Engine) Launch(ctx context.Context, r *Run, j Job) error {
	result, err := e.TryLaunch(ctx, r, j)
	switch {
	case err != nil:
		return r.Sandbox.ForgetStart(r, err)
	case result != nil:
		r.End(result)
	}
	return nil
}

// TryLaunch is launchRun, but its caller handles a run that has a result at once, or that could
// not be started.
func (e *Engine) TryLaunch(ctx context.Context, r *Run, j Job) (*yurt.Result, error) {
	if err := r.openLogs(e.logger); err != nil {
		return nil, err
	}
	out, usage, err := e.startRun(ctx, r, j)
	if err == nil {
		r.usage = usage
		r.Phases.Mark("start")
		r.out.Store(out)
		e.noteBegin(r)
		e.startClock(r)
		if r.stream != nil {
			e.awaitWatcher(r)
		}
		e.goes(func() { e.follow(r, out) })
		if j.keepsStdinOpen() && len(j.stdin) > 0 {
			r.writing <- struct{}{} // before anybody else can
			e.goes(func() { e.writeFirst(r, j.stdin) })
		}
		return nil, nil
	}
	e.kill(r) // it may have begun all the same, if the caller left while it did
	r.clean()
	r.closeLogs()
	if result := FailedStart(err, j); result != nil && r.Record.Endless {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "command", "%s", result.Error.Message)
	} else if result != nil {
		return result, nil
	}
	return nil, startError(r, err)
}

// ForgetStart drops a run that never began, and returns the reason.
func (s *Sandbox) ForgetStart(r *Run, reason error) error {
	s.Lock()
	delete(s.runs, r.Record.ID)
	s.Unlock()
	s.node.Executions.Add(-1)
	r.Log.Close()
	return errors.Join(reason, r.removeLog())
}

// startRun has the process started, in its own cgroup, with its files in place.
func (e *Engine) startRun(ctx context.Context, r *Run, j Job) (*initd.Output, *broker.Meter, error) {
	s := r.Sandbox
	if err := s.WriteSources(j.dir, j.sources); err != nil {
		return nil, nil, err
	}
	if err := s.WriteFiles(r.Record.ID, j.Files); err != nil {
		return nil, nil, err
	}
	given := j.Stdio.Files()
	if len(j.stdin) > 0 && !j.keepsStdinOpen() {
		stdin, err := descriptor.Sealed("stdin", j.stdin)
		if err != nil {
			return nil, nil, err
		}
		defer stdin.Close()
		given = append([]*os.File{stdin}, given...)
	}
	ctx, cancel := context.WithTimeout(ctx, sandbox.InitTimeout)
	defer cancel()
	r.language = j.Language
	return e.starter.Start(ctx, s.Sandbox, start.Process{StartRequest: initd.StartRequest{
		ID: r.Record.ID, Argv: j.Argv, Env: j.Env, Dir: j.dir, UID: j.user.UID, GID: j.user.GID,
		HasStdin: j.Stdio.Stdin != nil || len(j.stdin) > 0 && !j.keepsStdinOpen(), HasStdout: j.Stdio.Stdout != nil, HasStderr: j.Stdio.Stderr != nil,
		OpenStdin: j.openStdin && j.terminal == nil, Terminal: (*initd.WindowSize)(j.terminal),
		HasControl: j.Control, OutputLimit: r.outputLimit(), ControlLimit: yurt.MaxResultBytes + envelopeRoom,
	}, Given: given, Language: r.language})
}

// keepsStdinOpen reports whether more can be written to stdin while the job runs.
func (j *Job) keepsStdinOpen() bool { return j.openStdin || j.terminal != nil }

// writeFirst writes the input of the request to a stdin that stays open. A run need not read it,
// so a failure is only logged.
func (e *Engine) writeFirst(r *Run, data []byte) {
	defer func() { <-r.writing }()
	if err := r.input(e.ctx, data, false); err != nil {
		e.logger.Debug("writing to an execution", "execution", r.Record.ID, "error", err)
	}
}

// envelopeRoom is how many bytes an envelope may add to the value in it.
const envelopeRoom = 1 << 20

// startError says why a run could not be started when that is not its own doing.
func startError(r *Run, err error) error {
	failure := new(initd.Failure)
	if errors.As(err, &failure) && failure.Reason == initd.ReasonNoDir {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "cwd", "%s", failure.Message)
	}
	if errors.Is(err, initd.ErrTooLarge) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "command", "arguments, environment and their escapes are too long to be handed over; pass more through stdin or a file")
	}
	if code := yurt.CodeOf(err); code != yurt.CodeInternal {
		return err
	}
	return yurt.Errorf(yurt.CodeSandboxFailed, "starting an execution in sandbox %s: %w", r.Sandbox.ID(), err)
}

// FailedStart returns the result of a run whose command could not be started, or
// nil if that is not the reason.
func FailedStart(err error, j Job) *yurt.Result {
	failure := new(initd.Failure)
	if !errors.As(err, &failure) {
		return nil
	}
	kind, code := yurt.ErrorTypeSandboxFailed, 126
	switch failure.Reason {
	case initd.ReasonNoCommand:
		kind, code = yurt.ErrorTypeCommandNotFound, 127
	case initd.ReasonFork:
	default:
		return nil
	}
	message := fmt.Sprintf("%s cannot be started: %s", j.Argv[0], failure.Message)
	return &yurt.Result{ExitCode: code, Error: &yurt.ExecutionError{Type: kind, Message: message}}
}

// noteBegin has the timeout count from now, when the run's process has started: the time that the
// node took until then is not the program's. The log says so for the next executor, which without
// the entry counts from the record of the run, and so ends it too early rather than too late.
func (e *Engine) noteBegin(r *Run) {
	if r.Record.Unlimited() {
		return
	}
	now := time.Now()
	r.CountFrom(now)
	if err := r.Log.Append(runlog.Entry{Kind: runlog.Progress, At: now}); err != nil {
		e.logger.Warn("noting when an execution began", "execution", r.Record.ID, "sandbox", r.Sandbox.ID(), "error", err)
	}
}

// CountFrom lets the run's timeout begin at a time. Pauses of the sandbox before it do not count.
func (r *Run) CountFrom(at time.Time) {
	s := r.Sandbox
	s.Lock()
	defer s.Unlock()
	r.Record.Deadline, r.Record.PausedBefore = at.Add(r.Record.Timeout.Std()), s.Record.PausedFor
}

// startClock has the run ended when its time is up.
func (e *Engine) startClock(r *Run) {
	if r.Record.Unlimited() {
		return
	}
	left, running := r.Sandbox.timeLeft(r.Record)
	r.Clock.Start(left, running, func() {
		r.timedOut.Store(true)
		e.kill(r)
	})
}

// follow keeps the run's output until it ends, and then its result.
func (e *Engine) follow(r *Run, out *initd.Output) {
	stop := context.AfterFunc(e.ctx, func() { out.Close() })
	defer stop()
	defer out.Close()
	defer r.usage.Close()
	defer r.Clock.Stop()
	defer r.closeLogs()
	exit, err := r.collect(e.ctx, out)
	if e.ctx.Err() != nil {
		return // the next executor goes on
	}
	if err != nil && r.stream != nil {
		e.kill(r) // it may have gone on, and its watcher would not hear of it
	}
	// Of a run that is being killed the first process may have ended while others go on, which the
	// next run would find in its way.
	assembled := r.Assembling()
	r.killing.Lock()
	result := r.assemble(exit, err)
	r.killing.Unlock()
	e.interpret(r, result)
	r.End(result)
	assembled()
	if err != nil {
		e.tidy(r, nil)
		return
	}
	e.tidy(r, out.Forget)
}

// tidyPause is how long the remains of a run stay, so that callers take its result first.
const tidyPause = 2 * time.Millisecond

// tidy removes the remains of a run that ended, and prepares for the next one. forget has
// yurt-init forget the run; it is nil if yurt-init does not know the run.
func (e *Engine) tidy(r *Run, forget func(ctx context.Context, id string) error) {
	late := r.Sandbox.IsZygoteLate(r.language)
	if late {
		e.starter.PrepareZygote(r.Sandbox.Sandbox, r.language)
	}
	select { // the callers that wait for the result come first, and may end the sandbox
	case <-r.Sandbox.Gone:
	case <-time.After(tidyPause):
	}
	if r.Sandbox.IsEnding() {
		return // all of it goes
	}
	if forget != nil {
		ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
		_ = forget(ctx, r.Record.ID) // if it cannot, it keeps a few bytes for longer
		cancel()
	}
	r.clean()
	if !late {
		e.starter.PrepareZygote(r.Sandbox.Sandbox, r.language)
	}
}

// kill ends every process of the run, also those that left its process group or session. Their output until
// then is still on its way; if yurt-init does not report its end within InitTimeout, it is given up.
func (e *Engine) kill(r *Run) {
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.DestroyTimeout)
	defer cancel()
	r.killing.Lock()
	err := r.Sandbox.Broker.KillRun(ctx, r.Sandbox.ID(), r.Record.ID)
	r.killing.Unlock()
	if err != nil && !broker.Missing(err) && e.ctx.Err() == nil {
		e.logger.Error("killing an execution", "execution", r.Record.ID, "sandbox", r.Sandbox.ID(), "error", err)
	}
	if out := r.out.Load(); out != nil {
		out.Killed(sandbox.InitTimeout)
	}
}

// collect writes chunks to the log until the process has ended.
func (r *Run) collect(ctx context.Context, out *initd.Output) (*initd.Exit, error) {
	unacked, first := 0, true
	limits := r.newBudget()
	for {
		chunk, exit, err := out.Next()
		if err != nil || exit != nil {
			if exit != nil && r.stream != nil {
				r.stream.chunks = max(r.stream.chunks, exit.Last) // also those that an earlier executor lost on their way
			}
			return exit, err
		}
		if !limits.take(chunk) {
			return nil, errors.New("the sandbox sent more output than was asked for")
		}
		if first && chunk.Stream != initd.Control {
			first = false
			r.Phases.Trace("first output", r.StartedAt)
		}
		if err := r.keep(ctx, chunk); err != nil {
			return nil, err
		}
		if unacked += chunk.Cost(); unacked >= initd.AckEvery {
			if err := out.Ack(chunk.Seq); err != nil {
				return nil, fmt.Errorf("acknowledging output: %w", err)
			}
			unacked = 0
		}
	}
}

// EntryOf returns the entry of a log for a chunk of output.
func EntryOf(chunk initd.Chunk) runlog.Entry {
	kind := runlog.Control
	switch chunk.Stream {
	case initd.Stdout:
		kind = runlog.Stdout
	case initd.Stderr:
		kind = runlog.Stderr
	}
	return runlog.Entry{Kind: kind, At: time.Now(), Data: chunk.Data}
}

// budget holds the sandbox to the limits that its init was given, lest a hostile
// one fill the host's disk.
type budget struct{ left [initd.Streams]int64 }

func (r *Run) newBudget() *budget {
	limit := r.outputLimit()
	return &budget{[initd.Streams]int64{limit, limit, yurt.MaxResultBytes + envelopeRoom}}
}

func (b *budget) take(chunk initd.Chunk) bool {
	left := &b.left[chunk.Stream-1]
	*left -= int64(len(chunk.Data))
	return *left >= 0
}

// clean removes the run's files inside the sandbox, and its cgroup.
func (r *Run) clean() {
	_ = r.Sandbox.Plans.RemoveAll(r.Record.ID) // a file that cannot be removed goes with the sandbox
	if r.Record.Compiles > 0 {
		_ = r.Sandbox.Temp.RemoveAll(sandbox.OutPrefix + r.Record.ID) // likewise
	}
	_ = r.Sandbox.EndRun(r.Record.ID) // likewise
}
