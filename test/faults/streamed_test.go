package faults

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/testutil"
)

// lossy is a way to an executor on which answers get lost while it is told so, as they do that
// are on their way when the executor is killed.
type lossy struct {
	net.Listener

	loses atomic.Bool
	work  sync.WaitGroup
}

func newLossy(t *testing.T, to string) *lossy {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "lossy.sock"))
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{Listener: listener}
	l.work.Go(func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			executor, err := net.Dial("unix", to)
			if err != nil { // it is between two lives
				caller.Close()
				continue
			}
			l.work.Go(func() { _, _ = io.Copy(executor, caller); executor.Close() })
			l.work.Go(func() { _, _ = io.Copy(&answers{way: l, to: caller}, executor); caller.Close() })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.work.Wait()
	})
	return l
}

// answers is one connection's way back. A connection that has lost a byte carries no other: the
// kernel still hands on the bytes that an executor wrote before it was killed.
type answers struct {
	way  *lossy
	to   io.Writer
	lost bool
}

func (a *answers) Write(data []byte) (int, error) {
	if a.lost = a.lost || a.way.loses.Load(); a.lost {
		return len(data), nil
	}
	return a.to.Write(data)
}

// TestKilledAsAStreamEnds kills the executor when a streamed command has ended and the last of its
// output, and its result, are on their way. The next executor tells the watcher of the gap, and of the exit code.
func TestKilledAsAStreamEnds(t *testing.T) {
	d := newDaemon(t)
	s, err := d.CreateSandbox(t.Context(), testutil.Spec())
	if err != nil {
		t.Fatal(err)
	}
	way := newLossy(t, d.socket())
	watcher, err := api.NewUnixClient(way.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	const lines = 100_000 // less than can be on its way
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Streamed: true, StdinOpen: true,
		Command: []string{"/bin/sh", "-c", fmt.Sprintf("echo begun; read x; seq %d; echo last >&2; exit 3", lines)},
	}
	if err := watcher.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var result *yurt.Result
	var gap *yurt.Gap
	err = watcher.WatchExecution(t.Context(), s.ID, spec.ID, 0, func(e yurt.Event) error {
		out.Write(e.Data)
		switch e.Type {
		case yurt.EventEnded:
			result = e.Result
		case yurt.EventGap:
			gap = e.Gap
		}
		if out.String() != "begun\n" || e.Type != yurt.EventStdout {
			return nil
		}
		way.loses.Store(true)
		written := d.WriteStdin(t.Context(), s.ID, spec.ID, []byte("\n"), true)
		_, ended := d.AwaitExecution(t.Context(), s.ID, spec.ID)
		d.stop(syscall.SIGKILL)
		way.loses.Store(false)
		d.start()
		return errors.Join(written, ended)
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case result == nil || result.ExitCode != 3:
		t.Errorf("it ended with %+v", result)
	case gap == nil || gap.From != 3 || gap.To < gap.From || out.String() != "begun\n":
		t.Errorf("%d bytes came, and the gap %+v", out.Len(), gap)
	}
}
