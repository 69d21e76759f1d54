package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/test/smalldisk"
)

// keptBytes is how much output the store has of executions.
func (w *world) keptBytes(executions []yurt.Execution) (kept int64) {
	w.t.Helper()
	for _, e := range executions {
		got := w.wait(e).Result
		kept += got.OutputBytes(yurt.EventStdout)
		if got.OutputBytes(yurt.EventStdout) == 0 && !got.Truncated.Stdout {
			w.t.Errorf("the result of %s lost its output and does not say so", e.ID)
		}
	}
	return kept
}

// TestQuotasHoldBetweenSweeps: results are bounded when they are stored, large and small ones, and not only by the next sweep.
func TestQuotasHoldBetweenSweeps(t *testing.T) {
	const bound = 1 << 20
	for name, size := range map[string]int{"large": 100 << 10, "small": 10 << 10} {
		script := "echo " + strings.Repeat("x", size)
		fill := func(w *world, sessions int) (all []yurt.Execution) {
			for range sessions {
				s := w.create(yurt.ModePersistent)
				for range 2*bound/size/sessions + 1 {
					e := w.execute(s.ID, script)
					w.wait(e)
					all = append(all, e)
				}
			}
			return all
		}
		for who, quota := range map[string]struct {
			sessions int
			set      func(*controller.Config)
		}{
			"of a session":    {1, func(c *controller.Config) { c.ResultQuota = bound }},
			"of all sessions": {4, func(c *controller.Config) { c.ResultSpace = bound }},
		} {
			t.Run(fmt.Sprintf("%s %s", name, who), func(t *testing.T) {
				w := testWorld(t, quota.set)
				all := fill(w, quota.sessions)
				if kept := w.keptBytes(all); kept > bound+bound/16+int64(size) || kept < bound/2 {
					t.Errorf("%d results of %d bytes are kept with %d bytes, want at most %d and a sixteenth", len(all), size, kept, bound)
				}
			})
		}
	}
}

// TestEndWhileRunningKeepsLargeOutput: output that does not fit into a result is kept too when its session ends.
func TestEndWhileRunningKeepsLargeOutput(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	line := strings.Repeat("x", 50<<10)
	text := line + "\n" + line + "\n"
	e := w.execute(s.ID, "echo "+line+" echo "+line+" block")
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	got := w.wait(e).Result
	whole, err := got.Whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if whole.Stdout != text || whole.Truncated.Stdout || got.Error.Type != yurt.ErrorTypeSessionEnded {
		t.Errorf("%d bytes are kept, want %d; %+v, %+v", len(whole.Stdout), len(text), whole.Truncated, got.Error)
	}
}

// TestFullDiskKeepsEnds: an execution whose output a full disk has no room for ends without it, and says so.
func TestFullDiskKeepsEnds(t *testing.T) {
	disk := smalldisk.InMemory(t, 20<<20, "")
	w := newWorld(t, disk.Dir)
	t.Cleanup(w.close)
	s := w.create(yurt.ModePersistent)
	e, err := w.Execute(t.Context(), s.ID, execution.Request{
		Command: execution.ShellCommand(strings.Repeat("env BIG ", 50) + "block"),
		Env:     map[string]string{"BIG": strings.Repeat("x", 100<<10)},
	})
	if err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	go func() { _, _ = w.EndSession(t.Context(), s.ID) }() // ends it, and waits for the node
	w.wait(e)
	stored, err := w.store.Execution(t.Context(), s.ID, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	got := stored.Result
	if got.OutputBytes(yurt.EventStdout) != 0 || !got.Truncated.Stdout || got.Error == nil || got.Error.Type != yurt.ErrorTypeSessionEnded {
		t.Errorf("it ended with %d bytes, %+v, %+v", got.OutputBytes(yurt.EventStdout), got.Truncated, got.Error)
	}
}
