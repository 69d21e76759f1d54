package kernel_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/rig"
)

func command(line string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return rig.Command(line, change...)
}

func python(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return rig.Python(code, change...)
}

func cell(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return rig.Cell(code, change...)
}

func in(name string) func(*yurt.ExecutionSpec) { return rig.InContext(name) }

func timeout(d time.Duration) func(*yurt.ExecutionSpec) { return rig.Timeout(d) }

func execute(t testing.TB, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	return rig.Execute(t, e, sandbox, spec)
}

// run executes a shell line.
func run(t testing.TB, e *executor.Executor, sandbox, line string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	return rig.Execute(t, e, sandbox, rig.Command(line, change...))
}

func create(t testing.TB, e *executor.Executor, change ...func(*yurt.SandboxSpec)) yurt.Sandbox {
	t.Helper()
	return rig.Create(t, e, change...)
}

func wantErrorType(t testing.TB, r *yurt.Result, want string) {
	t.Helper()
	rig.WantErrorType(t, r, want)
}

func wait(t testing.TB, e *executor.Executor, sandbox, id string) *yurt.Result {
	t.Helper()
	return rig.Wait(t, e, sandbox, id)
}
