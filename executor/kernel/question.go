package kernel

import (
	"context"
	"path"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/plugins"
)

// answerGrace is how long an interpreter has to say that a question was interrupted.
const answerGrace = time.Second

// question is a question to a context, in its queue. It is recorded nowhere: an executor that is
// started again finds only that the kernel was asked, by the file of the request.
type question struct {
	id      string
	ask     yurt.Question
	sandbox *Sandbox
	clock   *time.Timer
	process *kernelProcess
	begun   atomic.Bool
	ended   chan protocol.Outcome // of one
}

var _ protocol.Cell = (*question)(nil)

// ID implements protocol.Cell.
func (q *question) ID() string { return q.id }

// Request implements protocol.Cell.
func (q *question) Request() protocol.Request {
	return protocol.Request{ID: q.id, Ask: q.ask.Kind, Cursor: q.ask.Cursor, Detail: q.ask.Detail, Code: q.ask.Code}
}

// Waits implements protocol.Cell.
func (q *question) Waits(string) {}

// StartClock implements protocol.Cell. The time does not count while the sandbox is paused.
func (q *question) StartClock(expired func()) {
	q.clock = time.AfterFunc(q.ask.Timeout.Std(), func() {
		if q.sandbox.IsPaused() {
			q.clock.Reset(pausePoll)
			return
		}
		expired()
	})
}

// StopClock implements protocol.Cell.
func (q *question) StopClock() {
	if q.clock != nil {
		q.clock.Stop()
	}
}

// Begin implements protocol.Cell.
func (q *question) Begin(process protocol.Process, _ uint64) error {
	q.process, _ = process.(*kernelProcess)
	q.begun.Store(true)
	return nil
}

// Keep implements protocol.Cell: other messages of the kernel are about no execution.
func (q *question) Keep(uint64, initd.Stream, []byte) error { return nil }

// End implements protocol.Cell.
func (q *question) End(outcome protocol.Outcome) {
	if q.process != nil {
		q.process.answered()
	}
	q.ended <- outcome
}

// Ask asks the interpreter of a context of the sandbox about code.
func (e *Engine) Ask(ctx context.Context, s *Sandbox, name string, ask yurt.Question) (yurt.Answer, error) {
	q := &question{id: yurt.NewExecutionID(), ask: ask, sandbox: s, ended: make(chan protocol.Outcome, 1)}
	c, err := e.queueQuestion(ctx, s, name, q)
	if err != nil {
		return yurt.Answer{}, err
	}
	return e.awaitAnswer(ctx, c, q)
}

// queueQuestion finds the context of a question, or makes it, and puts the question into its queue.
func (e *Engine) queueQuestion(ctx context.Context, s *Sandbox, name string, q *question) (*sessionContext, error) {
	language := q.ask.Language
	if language == "" {
		contexts := s.contextsNamed(name, "")
		switch {
		case len(contexts) == 0:
			return nil, yurt.Errorf(yurt.CodeContextNotFound, "the session has no context %q; give a language, by which it is made", name)
		case len(contexts) > 1:
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "language", "several languages have a context %q in the session; give the one that is meant", name)
		}
		language = contexts[0].key.language
	}
	info, err := e.runs.RuntimeOf(ctx, language, s.Record.Spec.Template.Runtimes)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(info.Abilities, plugins.AbilityCompletion) {
		return nil, yurt.FieldErrorf(yurt.CodeNotSupported, "language", "the interpreter of %s answers no questions about code; the ability %q of a runtime says whether it does", info.Name, plugins.AbilityCompletion)
	}
	spec, err := e.PrepareCell(s, yurt.ExecutionSpec{Language: info.Name, ContextName: name})
	if err != nil {
		return nil, err
	}
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return nil, err
	}
	c, err := e.contextOf(s, spec)
	if err != nil {
		return nil, err
	}
	return c, c.Ask(q, q.ask.Timeout.Std())
}

// awaitAnswer waits until the question has ended. A caller that leaves takes the question back.
func (e *Engine) awaitAnswer(ctx context.Context, c *sessionContext, q *question) (yurt.Answer, error) {
	late := time.NewTimer(2*q.ask.Timeout.Std() + answerGrace)
	defer late.Stop()
	select {
	case outcome := <-q.ended:
		return q.answer(outcome)
	case <-ctx.Done():
		_ = c.Signal(q.id, syscall.SIGINT)
		return yurt.Answer{}, ctx.Err()
	case <-e.ctx.Done():
		return yurt.Answer{}, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down; ask again")
	case <-late.C:
		return yurt.Answer{}, q.late("has not yielded to the interrupt yet; it is ended with its variables if it goes on so")
	}
}

func (q *question) late(state string) error {
	return yurt.Errorf(yurt.CodeDeadlineExceeded, "the interpreter did not answer within %s, was interrupted and %s", q.ask.Timeout, state)
}

// answer makes the answer of the question's outcome.
func (q *question) answer(o protocol.Outcome) (yurt.Answer, error) {
	switch {
	case o.Overdue > 0:
		return yurt.Answer{}, yurt.FieldErrorf(yurt.CodeContextBusy, "timeout", "the context was busy for %s with what came before; ask again when it is idle, with a longer timeout (at most %s), or interrupt its execution", yurt.Duration(o.Overdue), yurt.Duration(yurt.MaxQuestionTimeout))
	case o.Cancelled:
		return yurt.Answer{}, yurt.Errorf(yurt.CodeContextNotFound, "the context was removed just now; ask again")
	case o.TimedOut && o.StateLost:
		return yurt.Answer{}, q.late("did not yield, so that it was ended; the variables of its context are lost")
	case o.TimedOut:
		return yurt.Answer{}, q.late("yielded; the variables of its context are kept")
	case o.Done == nil && o.Err != nil && !q.begun.Load():
		return yurt.Answer{}, yurt.Errorf(yurt.CodeOf(o.Err), "the interpreter could not be started: %w", o.Err)
	case o.Done == nil || o.Done.Broken != "":
		return yurt.Answer{}, yurt.Errorf(yurt.CodeUnavailable, "the interpreter ended before it answered, and the next request gets a fresh one; the variables of the context are lost")
	case o.Done.Error != nil:
		return yurt.Answer{}, yurt.Errorf(yurt.CodeUnavailable, "the interpreter could not answer: %s: %.400s; correct what the code has made of it, or restart the context", o.Done.Error.Type, o.Done.Error.Message)
	}
	return q.ask.DecodeAnswer(o.Done.Result)
}

// endQuestion interrupts a question that an executor before this one has asked the kernel, whose
// answer no caller waits for. Without one it has no effect.
func (p *kernelProcess) endQuestion() error {
	name := path.Join(p.id, plugins.KernelQuestion)
	if _, err := p.sandbox.Plans.Stat(name); err != nil {
		return nil //nolint:nilerr // the file does not exist
	}
	defer func() { _ = p.sandbox.Plans.RemoveAll(name) }()
	return p.Signal(syscall.SIGINT)
}
