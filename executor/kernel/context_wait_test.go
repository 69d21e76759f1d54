package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestWaitIsTold: an execution that waits for its turn reports which other one has it; one in another context, or one
// that waits only for a moment, does not.
func TestWaitIsTold(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	busy, waits, elsewhere := testutil.Cell("import time\ntime.sleep(300)"), testutil.Cell("1"), testutil.Cell("2", testutil.InContext("other"))
	for _, spec := range []yurt.ExecutionSpec{busy, waits, elsewhere} {
		if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
			t.Fatal(err)
		}
	}
	told := awaitEvent(t, func(ctx context.Context, each func(yurt.Event) error) error {
		return e.WatchExecution(ctx, s.ID, waits.ID, 0, each)
	}, yurt.EventProgress)
	if want := fmt.Sprintf("waiting for execution %s that runs in context default\n", busy.ID); string(told.Data) != want || told.Seq != 2 {
		t.Errorf("event %d says %q, want %q", told.Seq, told.Data, want)
	}
	if err := e.SignalExecution(t.Context(), s.ID, busy.ID, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	if r := testutil.Wait(t, e, s.ID, waits.ID); r.ExitCode != 0 {
		t.Errorf("what waited ended with %+v", r)
	}
	testutil.Wait(t, e, s.ID, elsewhere.ID)
	for _, id := range []string{busy.ID, elsewhere.ID} {
		err := e.WatchExecution(t.Context(), s.ID, id, 0, func(event yurt.Event) error {
			if event.Type == yurt.EventProgress {
				return fmt.Errorf("execution %s says %q", id, event.Data)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// awaitEvent returns the first event of the type.
func awaitEvent(t *testing.T, watch func(context.Context, func(yurt.Event) error) error, kind yurt.EventType) (found yurt.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, 10*time.Second))
	defer cancel()
	stop := errors.New("found")
	err := watch(ctx, func(event yurt.Event) error {
		if found = event; event.Type == kind {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatalf("there was no event %s: %v", kind, err)
	}
	return found
}
