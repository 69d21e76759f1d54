package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

func streamed(s *yurt.ExecutionSpec) { s.Timeout, s.OutputLimit, s.Streamed = 0, 0, true }

var errEnough = errors.New("enough")

// watched collects a watcher's events after a number until they are enough, and returns the last event.
func watched(t testing.TB, e *executor.Executor, sandbox, id string, after uint64, enough func(yurt.Event) bool) (out string, last yurt.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := e.WatchExecution(ctx, sandbox, id, after, func(event yurt.Event) error {
		if from := event.Seq; event.Type == yurt.EventGap && event.Gap.From != after+1 || event.Type != yurt.EventGap && from != after+1 {
			t.Errorf("event %d came after event %d", from, after)
		}
		after, last, out = event.Seq, event, out+string(event.Data)
		if enough(event) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		t.Fatalf("watching after %q: %v", out, err)
	}
	return out, last
}

func never(yurt.Event) bool { return false }

// A watcher gets all of it, however much and however slowly it takes it. The program waits meanwhile.
func TestStreamedToASlowWatcher(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	const lines = 12_000_000 // more than the most that is kept of any other execution
	id := begin(t, e, s.ID, fmt.Sprintf("seq %d; touch /workspace/done; echo e >&2; exit 3", lines), streamed)
	digest, size, stopped := sha256.New(), 0, false
	var last yurt.Event
	err := e.WatchExecution(t.Context(), s.ID, id, 0, func(event yurt.Event) error {
		last = event
		if event.Type != yurt.EventStdout {
			return nil
		}
		digest.Write(event.Data)
		if size += len(event.Data); size > 1<<20 && !stopped {
			stopped = true
			time.Sleep(time.Second) // in which it could write all, if it did not wait
			if _, err := e.StatFile(t.Context(), s.ID, "done"); yurt.CodeOf(err) != yurt.CodeFileNotFound {
				t.Errorf("it did not wait for its watcher: %v", err)
			}
		}
		return nil
	})
	if err != nil || last.Type != yurt.EventEnded || last.Result.ExitCode != 3 || last.Result.Stdout != "" || last.Result.Metrics.StdoutBytes != int64(size) || last.Result.Truncated.Stdout {
		t.Fatalf("it ended with %+v, %v", last.Result, err)
	}
	want := sha256.New()
	for i := range lines {
		fmt.Fprintln(want, i+1)
	}
	if size <= yurt.MaxOutputLimit || !bytes.Equal(digest.Sum(nil), want.Sum(nil)) {
		t.Errorf("%d bytes came, and are not what was written", size)
	}
	if err := e.ForgetExecution(t.Context(), s.ID, id); err != nil {
		t.Error(err)
	}
}

// A watcher that leaves takes the execution with it, and one that never came likewise.
func TestStreamedToNobody(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	for name, line := range map[string]string{"it sleeps": "echo begun; sleep 600 & sleep 600", "it writes": "echo begun; yes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left, unseen := begin(t, e, s.ID, line, streamed), begin(t, e, s.ID, line, streamed)
			watched(t, e, s.ID, left, 0, func(event yurt.Event) bool { return event.Type == yurt.EventStdout })
			for _, id := range []string{left, unseen} {
				if r := testutil.Wait(t, e, s.ID, id); r.ExitCode != 137 {
					t.Errorf("it ended with %+v", r)
				}
			}
		})
	}
	t.Run("two watch", func(t *testing.T) {
		id := begin(t, e, s.ID, "echo begun; cat", streamed, stdinOpen)
		watched(t, e, s.ID, id, 0, func(event yurt.Event) bool {
			if event.Type == yurt.EventEnded {
				return true
			}
			err := e.WatchExecution(t.Context(), s.ID, id, 0, func(yurt.Event) error { return nil })
			if yurt.CodeOf(err) != yurt.CodeExecutionRunning {
				t.Errorf("a second watcher got %v", err)
			}
			if event.Type == yurt.EventStdout {
				write(t, e, s.ID, id, "", true)
			}
			return false
		})
	})
}

// A watcher that returns to the next executor continues at its last event, and gets a gap event for missing events
// that are lost.
func TestStreamedOutlivesExecutors(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.PluginDir = t.TempDir() // no languages, which take time to start
	e := passing(t, config)
	s := testutil.Create(t, e)
	reply := func(want string) func(yurt.Event) bool {
		seen := ""
		return func(event yurt.Event) bool { seen += string(event.Data); return seen == want }
	}
	kept := begin(t, e, s.ID, "echo 1; while read x; do echo got $x; done; exit 4", streamed, stdinOpen)
	lost := begin(t, e, s.ID, "seq 1000000; read x; exit 5", streamed, stdinOpen)
	_, at := watched(t, e, s.ID, kept, 0, reply("1\n"))
	size := 0
	watched(t, e, s.ID, lost, 0, func(event yurt.Event) bool { size += len(event.Data); return size > 1<<20 })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = testutil.Start(t, config)
	write(t, e, s.ID, kept, "2\n", true)
	out, last := watched(t, e, s.ID, kept, at.Seq, never)
	if out != "got 2\n" || last.Type != yurt.EventEnded || last.Result.ExitCode != 4 {
		t.Errorf("it went on with %q, and ended with %+v", out, last.Result)
	}
	var whole strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintln(&whole, i+1)
	}
	var gap *yurt.Gap
	rest, _ := watched(t, e, s.ID, lost, 2, func(event yurt.Event) bool {
		if event.Type == yurt.EventGap {
			gap = event.Gap
		}
		return strings.HasSuffix(string(event.Data), "1000000\n")
	})
	if gap == nil || gap.From != 3 || gap.To < gap.From || rest == "" || len(rest) >= whole.Len() || !strings.HasSuffix(whole.String(), rest) {
		t.Errorf("with a part of its output lost it went on with %d bytes after the gap %+v", len(rest), gap)
	}
	write(t, e, s.ID, lost, "", true)
	if r := testutil.Wait(t, e, s.ID, lost); r.ExitCode != 5 {
		t.Errorf("with a part of its output lost it ended with %+v", r)
	}
	processes, err := e.Processes(t.Context(), s.ID)
	if err != nil || len(processes) > 1 { // yurt-init
		t.Errorf("these are left: %+v, %v", processes, err)
	}
}

// A watcher that returns after the end gets its exit code, and before it a gap event if it lacks output.
func TestStreamedEndIsKept(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.PluginDir = t.TempDir() // no languages, which take time to start
	e := passing(t, config)
	s := testutil.Create(t, e)
	silent := begin(t, e, s.ID, "exit 6", streamed)
	watched(t, e, s.ID, silent, 0, never)
	long := begin(t, e, s.ID, "seq 500000; echo last >&2; exit 3", streamed)
	_, last := watched(t, e, s.ID, long, 0, never)
	for _, life := range []string{"this", "the next"} {
		for after := range last.Seq {
			if after > 3 && after < last.Seq-3 {
				continue
			}
			told := []yurt.Event{}
			err := e.WatchExecution(t.Context(), s.ID, long, after, func(event yurt.Event) error {
				told = append(told, event)
				return nil
			})
			if after == 0 && len(told) > 0 { // it is told of the start once more
				told, after = told[1:], 1
			}
			if err != nil || len(told) == 0 {
				t.Fatalf("after event %d, in %s life: %+v, %v", after, life, told, err)
			}
			if end := told[len(told)-1]; end.Type != yurt.EventEnded || end.Seq != last.Seq || end.Result.ExitCode != 3 {
				t.Errorf("after event %d, in %s life, it ended with %+v", after, life, end)
			}
			gap := yurt.Gap{From: after + 1, To: last.Seq - 1}
			if gaps := told[:len(told)-1]; after < last.Seq-1 && (len(gaps) != 1 || *gaps[0].Gap != gap) || after == last.Seq-1 && len(gaps) != 0 {
				t.Errorf("after event %d, in %s life, it was told of %+v, want %+v", after, life, gaps, gap)
			}
		}
		if again, end := watched(t, e, s.ID, silent, 0, never); again != "" || end.Seq != 2 || end.Result.ExitCode != 6 {
			t.Errorf("of one that printed no line came %q, %+v", again, end)
		}
		if life == "this" {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e = testutil.Start(t, config)
		}
	}
}

// A terminal is streamed as any other output, and its size follows its watcher's.
func TestStreamedTerminal(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	id := begin(t, e, s.ID, "until [ \"$(stty size)\" = '33 111' ]; do sleep 0.05; done; tty; exit 5", streamed, terminal)
	if err := e.ResizeExecution(t.Context(), s.ID, id, yurt.TerminalSize{Rows: 33, Cols: 111}); err != nil {
		t.Fatal(err)
	}
	out, last := watched(t, e, s.ID, id, 0, never)
	if out != "/dev/pts/0\r\n" || last.Result.ExitCode != 5 {
		t.Errorf("it printed %q, and ended with %+v", out, last.Result)
	}
}
