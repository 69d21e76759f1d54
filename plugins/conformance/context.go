package conformance

import (
	"context"
	"fmt"

	"github.com/yurtrun/yurt"
)

// The contexts that the cases use.
const (
	oneContext   = "one"
	otherContext = "other"
)

// contextCases are those of languages that keep state; of others, they check that a
// context is refused.
func contextCases() []Case {
	return []Case{
		{"context keeps state", stateful((*Target).checkState)},
		{"contexts are apart", stateful((*Target).checkApart)},
		{"interrupt keeps state", stateful((*Target).checkInterrupt)},
		{"exit in a context", stateful((*Target).checkContextExit)},
	}
}

func stateful(check func(*Target, context.Context) error) func(context.Context, *Target) error {
	return func(ctx context.Context, t *Target) error {
		if t.Samples.keepsState() {
			return check(t, ctx)
		}
		r, err := t.Execute(ctx, t.in(oneContext, "snippet"))
		return refused(r, err, yurt.CodeNotSupported)
	}
}

// in is an execution of a sample in a context.
func (t *Target) in(name, sample string) yurt.ExecutionSpec {
	spec := t.code(sample)
	spec.ContextName = name
	return spec
}

func (t *Target) setState(ctx context.Context) error {
	return t.prints(ctx, t.in(oneContext, stateSet), "")
}

func (t *Target) hasState(ctx context.Context) error {
	return t.prints(ctx, t.in(oneContext, stateGet), "42\n")
}

// lacksState checks that the variable is not there, by which the sample fails or
// prints something else.
func (t *Target) lacksState(ctx context.Context, name string) (*yurt.Result, error) {
	r, err := t.Execute(ctx, t.in(name, stateGet))
	if err == nil && r.Stdout == "42\n" {
		err = fmt.Errorf("the variable must not be there: %s", show(r))
	}
	return r, err
}

func (t *Target) checkState(ctx context.Context) error {
	if err := t.setState(ctx); err != nil {
		return err
	}
	return t.hasState(ctx)
}

func (t *Target) checkApart(ctx context.Context) error {
	if err := t.setState(ctx); err != nil {
		return err
	}
	if _, err := t.lacksState(ctx, otherContext); err != nil {
		return err
	}
	return t.hasState(ctx)
}

// checkInterrupt has a program run out of time, which is then interrupted.
func (t *Target) checkInterrupt(ctx context.Context) error {
	if err := t.setState(ctx); err != nil {
		return err
	}
	r, err := t.neverEnds(ctx, "endless", func(s *yurt.ExecutionSpec) { s.ContextName = oneContext })
	if err != nil {
		return err
	}
	if r.Error == nil || r.Error.Type != yurt.ErrorTypeTimeout || r.Stdout != "begun\n" || r.StateLost {
		return fmt.Errorf("it must be interrupted, and what it printed be kept (state lost: %t): %s", r.StateLost, show(r))
	}
	return t.hasState(ctx)
}

// checkContextExit has a program exit. That ends the execution; the interpreter may end with it, of
// which caller and next execution are told, or keep the state. One that keeps it may say that the
// code left early, as an error.
func (t *Target) checkContextExit(ctx context.Context) error {
	if err := t.setState(ctx); err != nil {
		return err
	}
	r, err := t.Execute(ctx, t.in(oneContext, "exit"))
	if err != nil {
		return err
	}
	if r.ExitCode != 7 || r.Stdout != "before\n" || r.Error != nil && r.StateLost {
		return fmt.Errorf("it must exit with 7, which is no error where the interpreter ends (state lost: %t): %s", r.StateLost, show(r))
	}
	if !r.StateLost {
		return t.hasState(ctx)
	}
	if r, err = t.lacksState(ctx, oneContext); err == nil && !r.KernelRestarted {
		err = fmt.Errorf("the next execution must be told of the fresh interpreter: %s", show(r))
	}
	return err
}
