package node_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// startLate starts an execution in a sandbox whose init lets it wait for so long.
func startLate(t *testing.T, e *executor.Executor, s yurt.Sandbox, spec yurt.ExecutionSpec, late time.Duration) {
	t.Helper()
	goOn := silence(t, s)
	defer time.AfterFunc(late, goOn).Stop()
	begun := time.Now()
	if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < late {
		t.Fatalf("the start took %s; the test wants it to take %s at least", took, late)
	}
}

// TestTimeoutBeginsWithTheProcess: the time that a node takes to start an execution does not count.
func TestTimeoutBeginsWithTheProcess(t *testing.T) {
	e := testutil.Executor(t)
	s := create(t, e)
	spec := command("sleep 0.05; echo done", timeout(testutil.Moment(t, 500*time.Millisecond)))
	startLate(t, e, s, spec, 2*spec.Timeout.Std())
	if r := wait(t, e, s.ID, spec.ID); r.Stdout != "done\n" || r.Error != nil {
		t.Errorf("it wrote %q, error %+v", r.Stdout, r.Error)
	}

	spec = command("sleep 300", timeout(testutil.Moment(t, 300*time.Millisecond)))
	startLate(t, e, s, spec, time.Millisecond)
	wantErrorType(t, wait(t, e, s.ID, spec.ID), yurt.ErrorTypeTimeout)
}

// TestTimeoutBeginsWithTheProcessOverARestart: the next executor counts from there too.
func TestTimeoutBeginsWithTheProcessOverARestart(t *testing.T) {
	config, first, leave := succession(t)
	s := create(t, first)
	spec := command("until [ -e /workspace/go ]; do sleep 0.02; done; echo done", timeout(testutil.Moment(t, 3*time.Second)))
	startLate(t, first, s, spec, spec.Timeout.Std())
	leave()
	e, _ := follow(t, config, time.Hour)
	run(t, e, s.ID, "touch /workspace/go")
	if r := wait(t, e, s.ID, spec.ID); r.Stdout != "done\n" || r.Error != nil {
		t.Errorf("it wrote %q, error %+v", r.Stdout, r.Error)
	}
}
