package node_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

func command(line string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return testutil.Command(line, change...)
}

func python(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return testutil.Python(code, change...)
}

func cell(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return testutil.Cell(code, change...)
}

func in(name string) func(*yurt.ExecutionSpec) { return testutil.InContext(name) }

func timeout(d time.Duration) func(*yurt.ExecutionSpec) { return testutil.Timeout(d) }

func execute(t testing.TB, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	return testutil.Execute(t, e, sandbox, spec)
}

// run executes a shell line.
func run(t testing.TB, e *executor.Executor, sandbox, line string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	return testutil.Execute(t, e, sandbox, testutil.Command(line, change...))
}

func create(t testing.TB, e *executor.Executor, change ...func(*yurt.SandboxSpec)) yurt.Sandbox {
	t.Helper()
	return testutil.Create(t, e, change...)
}

func wantErrorType(t testing.TB, r *yurt.Result, want string) {
	t.Helper()
	testutil.WantErrorType(t, r, want)
}

func wait(t testing.TB, e *executor.Executor, sandbox, id string) *yurt.Result {
	t.Helper()
	return testutil.Wait(t, e, sandbox, id)
}
