package node_test

import (
	"net"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestSilentInitIsTakenOver: a sandbox whose init does not answer for its executions does not keep its node from
// starting. Its executions and their processes have ended then.
func TestSilentInitIsTakenOver(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	specs := []yurt.ExecutionSpec{
		testutil.Command("exec sleep 300"), testutil.Command("exec sleep 300"),
		testutil.Cell("import time\ntime.sleep(300)"), testutil.Cell("2", testutil.InContext("other")),
		testutil.Command("exec sleep 300", func(s *yurt.ExecutionSpec) { s.Streamed, s.Timeout, s.OutputLimit = true, 0, 0 }),
	}
	for _, spec := range specs {
		if err := first.StartExecution(t.Context(), s.ID, spec); err != nil {
			t.Fatal(err)
		}
	}
	testutil.Wait(t, first, s.ID, specs[3].ID)
	testutil.Eventually(t, "five executions and kernels", func() bool {
		processes, err := first.Processes(t.Context(), s.ID)
		return err == nil && len(processes) >= 5
	})
	testutil.TakeOver(t, first, config.StateDir, s.ID, func(conn net.Conn) error {
		if frame, err := initd.NewReader(conn).Next(); err != nil || frame.Kind != initd.KindPing {
			return err
		}
		_, err := conn.Write(initd.AppendFrame(nil, initd.KindOK, nil))
		return err
	})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	node.LimitAdoption(e.Node, testutil.Moment(t, 3*time.Second))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		r := testutil.Wait(t, e, s.ID, spec.ID)
		if spec.ID != specs[3].ID && r.Error == nil {
			t.Errorf("%s %q ended with exit %d", spec.Kind, spec.Code, r.ExitCode)
		}
	}
	testutil.Eventually(t, "the end of what ran", func() bool {
		left, err := e.Processes(t.Context(), s.ID)
		return err == nil && len(left) == 0
	})
	if err := e.DestroyAll(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	testutil.CheckNothingLeft(t, config.StateDir)
}
