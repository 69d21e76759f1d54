package executor_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/rig"
)

// run executes a shell line in the sandbox and returns what came of it.
func run(t testing.TB, e *executor.Executor, sandbox, line string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", line},
		Timeout: yurt.Duration(yurt.DefaultExecutionTimeout), OutputLimit: yurt.DefaultOutputLimit,
	}
	for _, c := range change {
		c(&spec)
	}
	if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatalf("starting %q: %v", line, err)
	}
	result, err := e.WaitExecution(t.Context(), sandbox, spec.ID)
	if err != nil {
		t.Fatalf("waiting for %q: %v", line, err)
	}
	return result
}

func create(t testing.TB, e *executor.Executor, change ...func(*yurt.SandboxSpec)) yurt.Sandbox {
	t.Helper()
	spec := rig.Spec()
	for _, c := range change {
		c(&spec)
	}
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	return s
}

func TestSmoke(t *testing.T) {
	e := rig.Executor(t)
	s := create(t, e)
	t.Logf("%+v", s)
	for _, line := range []string{"echo hello; id; ls -la / /dev /workspace; cat /proc/self/status; echo err >&2; ls /proc; cat /proc/self/cgroup; ulimit -a; cat /proc/mounts"} {
		r := run(t, e, s.ID, line)
		t.Logf("%s\n%s\n%+v %v", r.Stdout, r.Stderr, r, r.Error)
	}
}
