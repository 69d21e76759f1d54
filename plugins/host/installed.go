package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/binary"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

// installed is one runtime of the plugin directory: a binary that can be started,
// and at most one running instance of it. Safe for concurrent use.
type installed struct {
	host *Host
	name string
	path string // resolved
	id   binary.Identity
	told func() *yurt.RuntimeInfo // its description by the file; nil where the file does not describe this binary

	mu       sync.Mutex // guards the fields below
	live     *instance
	starting *attempt
	info     *yurt.RuntimeInfo // of the last instance that described itself, or that the file told
	failure  error             // of the last start or call, until one succeeds
	limit    restartLimit
	removed  bool
}

func (h *Host) newInstalled(name, path string, id binary.Identity, descriptions map[string]told) *installed {
	r := &installed{
		host: h, name: name, path: path, id: id, limit: restartLimit{burst: h.opts.burst, every: h.opts.every},
		told: func() *yurt.RuntimeInfo { return nil },
	}
	if told, ok := descriptions[name]; ok {
		r.told = sync.OnceValue(func() *yurt.RuntimeInfo { return r.isTold(told) }) // a checksum takes milliseconds
	}
	return r
}

// attempt is a start that any number of callers wait for.
type attempt struct {
	done chan struct{}
	err  error // set before done is closed
}

// describe returns the runtime's description of itself. It starts the process only if neither an instance nor the file has told it
// yet, or if the runtime failed since.
func (r *installed) describe(ctx context.Context) (yurt.RuntimeInfo, error) {
	r.mu.Lock()
	info, failure := r.info, r.failure
	r.mu.Unlock()
	if info != nil && failure == nil {
		return *info, nil
	}
	if failure == nil {
		if told := r.told(); told != nil {
			return *r.learn(told), nil
		}
	}
	inst, err := r.instance(ctx)
	if err != nil {
		return yurt.RuntimeInfo{}, err
	}
	inst.calls.Done()
	return inst.info, nil
}

// learn keeps the description by the file, unless an instance has described itself meanwhile.
func (r *installed) learn(told *yurt.RuntimeInfo) *yurt.RuntimeInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info == nil {
		r.info = told
	}
	return r.info
}

// question is one call to a runtime: its name and how to put it to an instance, with
// the check of the answer.
type question[Answer any] struct {
	name  string
	put   func(ctx context.Context, rt *clientV1) (Answer, error)
	check func(Answer) error
}

// call puts the question. It does not end with ctx: a runtime that hangs is found out even if all callers have left.
func call[Answer any](ctx context.Context, r *installed, q question[Answer]) (Answer, error) {
	var none Answer
	inst, err := r.instance(ctx)
	if err != nil {
		return none, err
	}
	type outcome struct {
		answer Answer
		err    error
	}
	answered := make(chan outcome, 1)
	go func() {
		defer inst.calls.Done()
		answer, err := callNow(context.WithoutCancel(ctx), r, inst, q)
		answered <- outcome{answer, err}
	}()
	select {
	case a := <-answered:
		return a.answer, a.err
	case <-ctx.Done():
		return none, interrupted(ctx, r.name)
	}
}

func callNow[Answer any](ctx context.Context, r *installed, inst *instance, q question[Answer]) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.host.opts.callTimeout)
	defer cancel()
	answer, err := q.put(ctx, inst.runtime)
	if err != nil {
		err = r.explain(ctx, inst, q.name, err)
	} else if err = q.check(answer); err != nil {
		err = yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s gave an answer to %s that breaks the protocol: %w", r.name, q.name, err)
	}
	r.note(inst, err)
	return answer, err
}

// explain turns the failure of a call into an error for the user.
func (r *installed) explain(ctx context.Context, inst *instance, name string, err error) error {
	if given := protocol.ErrorFromWire(err); given != nil {
		return given
	}
	switch {
	case unimplemented(err):
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s does not know the call %s of protocol version %s; rebuild it", r.name, name, protocol.Spoken())
	case refusedSize(err):
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s and Yurt exchanged a message that is too large: %s", r.name, brief(err))
	case !connectionLost(err):
		return yurt.Errorf(yurt.CodeRuntimeIncompatible, "runtime %s gave an answer that cannot be read: %s", r.name, brief(err))
	case ctx.Err() != nil || deadlinePassed(err):
		inst.process.kill(hung(r.host.opts.callTimeout))
	default: // a runtime without a connection is of no use
		inst.process.kill(errors.New("lost its connection and was killed"))
	}
	<-inst.process.exited
	return unavailable(r.name, inst.process)
}

// note keeps the failure of a call until a call succeeds. An error that the
// runtime gave to its user is no failure.
func (r *installed) note(inst *instance, err error) {
	switch yurt.CodeOf(err) {
	case yurt.CodeRuntimeUnavailable, yurt.CodeRuntimeIncompatible:
		r.host.log.Error("runtime failed", "runtime", r.name, "error", err)
	default:
		err = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == inst || r.live == nil {
		r.failure = err
	}
}

// instance returns the running instance, started if need be, with its calls
// counter raised by one for the caller to lower.
func (r *installed) instance(ctx context.Context) (*instance, error) {
	for {
		try, inst, err := r.begin()
		if try == nil {
			return inst, err
		}
		select {
		case <-try.done:
		case <-ctx.Done():
			return nil, interrupted(ctx, r.name)
		}
		if try.err != nil {
			return nil, try.err
		}
	}
}

// begin returns the live instance, or an attempt to wait for, or why there is neither.
func (r *installed) begin() (*attempt, *instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return nil, nil, gone(r.name)
	}
	if r.live != nil && !r.live.process.hasExited() {
		r.live.calls.Add(1)
		return nil, r.live, nil
	}
	if r.starting != nil {
		return r.starting, nil, nil
	}
	if r.live != nil {
		dead := r.live
		r.live = nil
		r.host.wg.Go(func() { dead.stop(errStopped) })
	}
	if wait := r.limit.take(r.host.opts.now()); wait > 0 {
		return nil, nil, yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s failed too often and is started again in %s at the earliest; the last failure: %w",
			r.name, wait.Round(time.Second), lastFailure(r.failure))
	}
	r.starting = &attempt{done: make(chan struct{})}
	r.host.wg.Go(r.start)
	return r.starting, nil, nil
}

// start carries out the attempt that begin made.
func (r *installed) start() {
	inst, err := r.host.launch(r.host.ctx, r.name, r.path)
	if err != nil {
		r.host.log.Error("runtime failed to start", "runtime", r.name, "error", err)
	} else {
		r.host.log.Info("runtime started", "runtime", r.name, "version", inst.info.Version, "pid", inst.process.ID())
	}
	r.mu.Lock()
	try := r.starting
	r.starting = nil
	r.failure = err
	if err == nil {
		r.info = &inst.info
		r.live = inst
	}
	orphan := r.removed
	if orphan {
		r.live = nil
	}
	try.err = err
	r.mu.Unlock()
	if orphan && inst != nil {
		inst.stop(errHostClosed)
	}
	close(try.done)
}

// remove ends the runtime for good.
func (r *installed) remove(reason error) {
	r.mu.Lock()
	r.removed = true
	live := r.live
	r.live = nil
	r.mu.Unlock()
	if live != nil {
		live.stop(reason)
	}
}

func (r *installed) lastError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func lastFailure(err error) error {
	if err == nil {
		return errors.New("its process ended")
	}
	return err
}

func hung(after time.Duration) error {
	return errors.New("did not answer within " + after.String() + " and was killed")
}

func gone(name string) error {
	return yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s was removed or replaced just now; try again", name)
}

// interrupted is the error of a caller that did not wait for the runtime.
func interrupted(ctx context.Context, name string) error {
	return yurt.Errorf(yurt.CodeOf(ctx.Err()), "waiting for runtime %s: %w", name, ctx.Err())
}
