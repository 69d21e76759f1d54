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
	s := testutil.Create(t, e)
	spec := testutil.Command("sleep 0.05; echo done", testutil.Timeout(testutil.Moment(t, 500*time.Millisecond)))
	startLate(t, e, s, spec, 2*spec.Timeout.Std())
	if r := testutil.Wait(t, e, s.ID, spec.ID); r.Stdout != "done\n" || r.Error != nil {
		t.Errorf("it wrote %q, error %+v", r.Stdout, r.Error)
	}

	spec = testutil.Command("sleep 300", testutil.Timeout(testutil.Moment(t, 300*time.Millisecond)))
	startLate(t, e, s, spec, time.Millisecond)
	testutil.WantErrorType(t, testutil.Wait(t, e, s.ID, spec.ID), yurt.ErrorTypeTimeout)
}

// TestTimeoutBeginsWithTheProcessOverARestart: the next executor counts from there too.
func TestTimeoutBeginsWithTheProcessOverARestart(t *testing.T) {
	config, first, leave := succession(t)
	s := testutil.Create(t, first)
	spec := testutil.Command("until [ -e /workspace/go ]; do sleep 0.02; done; echo done", testutil.Timeout(testutil.Moment(t, 3*time.Second)))
	startLate(t, first, s, spec, spec.Timeout.Std())
	leave()
	e, _ := follow(t, config, time.Hour)
	testutil.Run(t, e, s.ID, "touch /workspace/go")
	if r := testutil.Wait(t, e, s.ID, spec.ID); r.Stdout != "done\n" || r.Error != nil {
		t.Errorf("it wrote %q, error %+v", r.Stdout, r.Error)
	}
}
