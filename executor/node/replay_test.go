package node_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestResultTellsItsEvents: the events that a result is told with are those that its watchers had.
func TestResultTellsItsEvents(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	for _, tt := range []struct {
		name string
		spec yurt.ExecutionSpec
		gaps int
	}{
		{"a command", testutil.Command("for i in 1 2 3; do echo $i; sleep 0.02; echo höre >&2; done; exit 3"), 0},
		{"a command with no output", testutil.Command("true"), 0},
		{"a command that is not there", testutil.Command("", func(s *yurt.ExecutionSpec) { s.Command = []string{"no-such-program"} }), 0},
		{"output that is cut", testutil.Command("head -c 100000 /dev/zero | tr '\\0' x", func(s *yurt.ExecutionSpec) { s.OutputLimit = 70_000 }), 0},
		{"output that is not text", testutil.Command(`printf 'a\377'; sleep 0.05; echo end`), 1},
		{"a context", testutil.Cell("print('one')\ndisplay({'a': 1})\nprint('two', flush=True)\n6 * 7"), 0},
		{"what it ran out of time with", testutil.Command("echo begun; sleep 300", testutil.Timeout(testutil.Moment(t, 300*time.Millisecond))), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testutil.Execute(t, e, s.ID, tt.spec)
			watch := func(events *[]yurt.Event) func(yurt.Event) error {
				return func(event yurt.Event) error {
					event.At = event.At.UTC().Truncate(time.Millisecond)
					*events = append(*events, event)
					return nil
				}
			}
			var live, told []yurt.Event
			if err := e.WatchExecution(t.Context(), s.ID, tt.spec.ID, 0, watch(&live)); err != nil {
				t.Fatal(err)
			}
			if err := r.Replay(t.Context(), 0, watch(&told)); err != nil {
				t.Fatal(err)
			}
			gaps := 0
			for i := range min(len(live), len(told)) {
				if told[i].Gap != nil {
					gaps++
					told[i] = live[i]
				}
				if diff := live[i].At.Sub(told[i].At).Abs(); diff > 2*time.Millisecond {
					t.Errorf("event %d is told as of %s, it was of %s", i+1, told[i].At, live[i].At)
				}
				live[i].At, live[i].Result, told[i].Result = told[i].At, nil, nil
			}
			if diff := cmp.Diff(live, told); diff != "" || gaps != tt.gaps {
				t.Errorf("%d gaps, want %d; (-live +told):\n%s", gaps, tt.gaps, diff)
			}
		})
	}
}
