package api_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestControlOfAnExecution(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	spec := command("stty size; read -r line; echo got $line; exec sleep 1000")
	spec.Terminal = &yurt.TerminalSize{Rows: 10, Cols: 20}
	if err := client.StartExecution(t.Context(), sandbox.ID, spec); err != nil {
		t.Fatal(err)
	}
	if err := client.ResizeExecution(t.Context(), sandbox.ID, spec.ID, yurt.TerminalSize{Rows: 30, Cols: 40}); err != nil {
		t.Error(err)
	}
	if err := client.WriteStdin(t.Context(), sandbox.ID, spec.ID, []byte("text\n"), false); err != nil {
		t.Error(err)
	}
	if err := client.PauseSandbox(t.Context(), sandbox.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := client.Sandboxes(t.Context()); err != nil || len(list) != 1 || list[0].State != yurt.SandboxPaused {
		t.Errorf("paused, the list is %+v, %v", list, err)
	}
	if err := client.ResumeSandbox(t.Context(), sandbox.ID); err != nil {
		t.Fatal(err)
	}
	sleeper := 0
	testutil.Eventually(t, "it sleeps", func() bool {
		list, err := client.Processes(t.Context(), sandbox.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.Name == "sleep" && p.ExecutionID == spec.ID {
				sleeper = p.PID
			}
		}
		return sleeper != 0
	})
	if health, err := client.SandboxHealth(t.Context(), sandbox.ID); err != nil || !health.InitAnswers || health.Usage == nil {
		t.Errorf("its health is %+v, error %v", health, err)
	}
	if stats, err := client.SandboxStats(t.Context(), sandbox.ID); err != nil || stats.PIDs == 0 || stats.MemoryLimitBytes == 0 {
		t.Errorf("it uses %+v, %v", stats, err)
	}
	if err := client.SignalProcess(t.Context(), sandbox.ID, sleeper, 15); err != nil {
		t.Error(err)
	}
	result, err := client.AwaitExecution(t.Context(), sandbox.ID, spec.ID)
	if err != nil || result.ExitCode != 128+15 {
		t.Errorf("it ended with %+v, %v", result, err)
	}
	if err := client.SignalExecution(t.Context(), sandbox.ID, spec.ID, yurt.SignalKill); yurt.CodeOf(err) != yurt.CodeExecutionEnded {
		t.Errorf("it has ended, and a signal to it is %v", err)
	}
}
