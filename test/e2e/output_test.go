package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// A hundred megabytes must not block the program, nor grow the server.
func TestEndlessOutputIsCutAndReported(t *testing.T) {
	client, server := serveProcess(t)
	session := create(t, client, "shell-basic")
	const bytes = 100 << 20
	result := shell(t, client, session.ID, "head -c "+strconv.Itoa(bytes)+" /dev/zero | tr '\\0' x")
	if len(result.Stdout) != yurt.DefaultOutputLimit || !result.Truncated.Stdout || result.Truncated.Stderr {
		t.Errorf("%d bytes were kept and truncated is %+v; want %d bytes and only stdout cut", len(result.Stdout), result.Truncated, yurt.DefaultOutputLimit)
	}
	if result.Metrics.StdoutBytes != bytes {
		t.Errorf("%d bytes are said to have been written, want %d", result.Metrics.StdoutBytes, bytes)
	}
	if strings.Trim(result.Stdout, "x") != "" {
		t.Error("the output is not what was written")
	}
	pid, err := server.ExecutorPID()
	if err != nil {
		t.Fatal(err)
	}
	if peak := testutil.Memory(t, pid, "VmHWM"); peak > 400<<20 {
		t.Errorf("the server took %d MiB at its peak", peak>>20)
	}
}

func TestAMillionTinyWritesKeepTheirOrder(t *testing.T) {
	client := serve(t)
	session := create(t, client, "python-basic")
	const code = `import os
for i in range(1_000_000):
    os.write(1, b"%d\n" % i)
`
	result := execute(t, client, session.ID, yurtclient.ExecuteRequest{Code: code, Language: "python"})
	if result.ExitCode != 0 {
		t.Fatalf("exit code %d: %s %+v", result.ExitCode, result.Stderr, result.Error)
	}
	next := 0
	for line := range strings.Lines(result.Stdout) {
		if line != strconv.Itoa(next)+"\n" {
			t.Fatalf("line %d is %q", next, line)
		}
		next++
	}
	if next != 1_000_000 {
		t.Errorf("%d lines came, want a million", next)
	}
}

// Events arrive when they happen, not when the run ends.
func TestOutputIsStreamed(t *testing.T) {
	client := serve(t)
	session := create(t, client, "shell-basic")
	var (
		arrivals []time.Time
		seqs     []uint64
	)
	req := yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "for i in 1 2 3; do echo $i; sleep 0.4; done"}}
	execution, err := client.ExecuteStream(t.Context(), session.ID, req, func(e yurt.Event) error {
		seqs = append(seqs, e.Seq)
		if e.Type == yurt.EventStdout {
			arrivals = append(arrivals, time.Now())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if execution.Result.Stdout != "1\n2\n3\n" || len(arrivals) != 3 {
		t.Fatalf("%q came in %d pieces", execution.Result.Stdout, len(arrivals))
	}
	if spread := arrivals[2].Sub(arrivals[0]); spread < 600*time.Millisecond {
		t.Errorf("all lines came within %s", spread)
	}
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			t.Fatalf("the events are numbered %v", seqs)
		}
	}
	var again []uint64
	err = client.WatchExecution(t.Context(), session.ID, execution.ID, 2, func(e yurt.Event) error {
		again = append(again, e.Seq)
		return nil
	})
	if err != nil || len(again) != len(seqs)-2 || again[0] != 3 {
		t.Errorf("replayed after 2: %v, %v; want 3 to %d", again, err, len(seqs))
	}
}
