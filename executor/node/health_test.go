package node_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

func healthOf(t *testing.T, e *executor.Executor, id string) yurt.SandboxHealth {
	t.Helper()
	health, err := e.SandboxHealth(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return health
}

// TestSandboxHealth: the health of a sandbox counts processes that ran out of memory, also over a restart of the executor, and says so
// when the init is gone.
func TestSandboxHealth(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Memory = 64 << 20 })
	if h := healthOf(t, e, s.ID); h.State != yurt.SandboxReady || !h.InitAnswers || h.InitMS <= 0 || h.OOMKills != 0 || h.Usage == nil || h.Usage.MemoryLimitBytes != 64<<20 {
		t.Errorf("a new sandbox is %+v, want one whose init answers and that ran out of memory never", h)
	}
	for n := range int64(2) {
		large := testutil.Python("x = bytearray(512 << 20)")
		testutil.WantErrorType(t, testutil.Execute(t, e, s.ID, large), yurt.ErrorTypeOutOfMemory)
		if h := healthOf(t, e, s.ID); h.OOMKills != n+1 {
			t.Errorf("after %d executions without memory %d processes are counted", n+1, h.OOMKills)
		}
	}
	pause(t, e, s.ID)
	if h := healthOf(t, e, s.ID); h.State != yurt.SandboxPaused || !h.InitAnswers {
		t.Errorf("paused it is %+v, want a state of paused, and an init that answers", h)
	}
	resume(t, e, s.ID)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = testutil.Start(t, config)
	if h := healthOf(t, e, s.ID); h.OOMKills != 2 || !h.InitAnswers {
		t.Errorf("the next executor says %+v, want a count of 2", h)
	}
	kill(t, e, s.ID)
	testutil.Eventually(t, "it is dead", func() bool { return healthOf(t, e, s.ID).State == yurt.SandboxDead })
	if h := healthOf(t, e, s.ID); h.InitAnswers || h.Reason == "" || h.Usage != nil || h.OOMKills != 2 {
		t.Errorf("dead it is %+v, want a reason, no usage, and an init that does not answer", h)
	}
	if _, err := e.SandboxHealth(t.Context(), "sbx_none"); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("a sandbox that there is not has the error %v", err)
	}
}
