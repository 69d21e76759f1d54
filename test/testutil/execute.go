package testutil

import (
	"context"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
)

// Command is an execution of a shell line.
func Command(line string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", line},
		Timeout: yurt.Duration(yurt.DefaultExecutionTimeout), OutputLimit: yurt.DefaultOutputLimit,
	}
	for _, c := range change {
		c(&spec)
	}
	return spec
}

// Python is an execution of Python code.
func Python(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return Command("", append([]func(*yurt.ExecutionSpec){func(s *yurt.ExecutionSpec) {
		s.Kind, s.Command, s.Language, s.Code = yurt.KindCode, nil, "python", code
	}}, change...)...)
}

// Cell is an execution of Python code in the default context.
func Cell(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return Python(code, append([]func(*yurt.ExecutionSpec){InContext(yurt.DefaultContext)}, change...)...)
}

// InContext puts an execution into a context.
func InContext(name string) func(*yurt.ExecutionSpec) {
	return func(s *yurt.ExecutionSpec) { s.ContextName = name }
}

// Timeout changes the timeout of an execution.
func Timeout(d time.Duration) func(*yurt.ExecutionSpec) {
	return func(s *yurt.ExecutionSpec) { s.Timeout = yurt.Duration(d) }
}

// Execute runs the execution in the sandbox and returns its result.
func Execute(t testing.TB, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatalf("starting %v: %v", spec.Command, err)
	}
	result, err := e.WaitExecution(t.Context(), sandbox, spec.ID)
	if err != nil {
		t.Fatalf("waiting for %v: %v", spec.Command, err)
	}
	return result
}

// Run executes a shell line in the sandbox and returns its result.
func Run(t testing.TB, e *executor.Executor, sandbox, line string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	return Execute(t, e, sandbox, Command(line, change...))
}

// Wait returns the result of an execution that ends within a minute.
func Wait(t testing.TB, e *executor.Executor, sandbox, id string) *yurt.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := e.WaitExecution(ctx, sandbox, id)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Create makes a sandbox of [Spec].
func Create(t testing.TB, e *executor.Executor, change ...func(*yurt.SandboxSpec)) yurt.Sandbox {
	t.Helper()
	spec := Spec()
	for _, c := range change {
		c(&spec)
	}
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	return s
}

// WantErrorType fails the test unless the result has an error of the type.
func WantErrorType(t testing.TB, r *yurt.Result, want string) {
	t.Helper()
	if r.Error == nil || r.Error.Type != want {
		t.Fatalf("error is %+v, want type %s (exit code %d, stderr %q)", r.Error, want, r.ExitCode, r.Stderr)
	}
}
