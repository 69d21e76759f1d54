package attack

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/test/testutil"
)

// silences are the ways in which an init that was taken over can keep a caller waiting for the end
// of a process: it reports each process as begun, and answers no other request.
func silences() map[string]func(net.Conn) error {
	begin := func(conn net.Conn) error {
		request, err := initd.NewReader(conn).Next()
		if err != nil || request.Kind != initd.KindStart {
			return err
		}
		return send(conn, initd.AppendFrame(nil, initd.KindBegun, []byte(`{"pid":2,"keeps":true}`)))
	}
	output := func(conn net.Conn, size int, pace time.Duration) error {
		err := begin(conn)
		for seq := uint64(1); err == nil; seq++ {
			err = send(conn, initd.AppendChunk(nil, initd.Chunk{Seq: seq, Stream: initd.Stdout, Data: make([]byte, size)}))
			time.Sleep(pace)
		}
		return err
	}
	return map[string]func(net.Conn) error{
		"silence": begin,
		"crumbs":  func(conn net.Conn) error { return output(conn, 1, 100*time.Millisecond) },
		"a flood": func(conn net.Conn) error {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			return output(conn, initd.MaxChunk, 0)
		},
		"a flood from one that does not listen": func(conn net.Conn) error { return output(conn, initd.MaxChunk, 0) },
	}
}

// ending is a way in which an execution is to end.
type ending struct {
	name string
	spec func() yurt.ExecutionSpec
	// end does it, where the timeout does not.
	end  func(ctx context.Context, a *arena, sandbox, id string) error
	says string // type of the error, if init is silent
}

func endings() []ending {
	soon := func(spec yurt.ExecutionSpec) func() yurt.ExecutionSpec {
		return func() yurt.ExecutionSpec {
			spec.ID, spec.Timeout = yurt.NewExecutionID(), yurt.Duration(time.Second)
			return spec
		}
	}
	late := func(spec yurt.ExecutionSpec) func() yurt.ExecutionSpec {
		return func() yurt.ExecutionSpec {
			spec.ID, spec.Timeout = yurt.NewExecutionID(), yurt.Duration(time.Hour)
			return spec
		}
	}
	code := command()
	code.Kind, code.Command, code.Language, code.ContextName, code.Code = yurt.KindCode, nil, "python", yurt.DefaultContext, "1"
	function := command("/bin/sleep", "300")
	function.Kind, function.Handler, function.Event = yurt.KindHandler, "client", []byte("1")
	line := shell("cat")
	line.StdinOpen = true
	return []ending{
		{"a run's timeout", soon(line), nil, yurt.ErrorTypeTimeout},
		{"a cell's timeout", soon(code), nil, yurt.ErrorTypeTimeout},
		{"a function's timeout", soon(function), nil, yurt.ErrorTypeTimeout},
		{"the removal of a context", late(code), remove, yurt.ErrorTypeKernelDied},
		{"the kill of a cell", late(code), killCell, yurt.ErrorTypeKernelDied},
		{"the kill of a run", late(line), kill, yurt.ErrorTypeSandboxLost},
	}
}

func kill(ctx context.Context, a *arena, sandbox, id string) error {
	err := a.SignalExecution(ctx, sandbox, id, yurt.SignalKill)
	if yurt.CodeOf(err) == yurt.CodeExecutionEnded { // a flood may have ended it
		return nil
	}
	return err
}

func killCell(ctx context.Context, a *arena, sandbox, id string) error {
	if err := a.awaitTurn(ctx, sandbox); err != nil {
		return err
	}
	return kill(ctx, a, sandbox, id)
}

func remove(ctx context.Context, a *arena, sandbox, _ string) error {
	if err := a.awaitTurn(ctx, sandbox); err != nil {
		return err
	}
	return a.RemoveContext(ctx, sandbox, yurt.DefaultContext, "")
}

// awaitTurn returns when a cell has begun.
func (a *arena) awaitTurn(ctx context.Context, sandbox string) error {
	for {
		list, err := a.Contexts(ctx, sandbox)
		if err != nil || len(list) == 1 && list[0].Executions > 0 {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestSilentInit has an init that was taken over withhold the ends of its processes. It must fail
// to keep callers waiting, however an execution is to end.
func TestSilentInit(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	a := arenaOf(t, testutil.Start(t, config))
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, 2*time.Minute))
	defer cancel()
	var work sync.WaitGroup // they mostly wait
	var sandboxes []string
	for silence, answer := range silences() {
		for _, ending := range endings() {
			sandbox := a.create(t, func(*yurt.SandboxSpec) {})
			sandboxes = append(sandboxes, sandbox)
			a.takeOver(t, config.StateDir, sandbox, answer)
			work.Go(func() {
				r, err := a.await(ctx, sandbox, ending)
				switch {
				case err != nil:
					t.Errorf("%s and %s: %v", silence, ending.name, err)
				case r.Error == nil || silence == "silence" && r.Error.Type != ending.says:
					t.Errorf("%s and %s: exit %d, %+v", silence, ending.name, r.ExitCode, r.Error)
				}
			})
		}
	}
	work.Wait()
	a.works(t, "the bystander", a.bystander)
	for _, sandbox := range sandboxes {
		if err := a.DestroySandbox(t.Context(), sandbox); err != nil {
			t.Errorf("it cannot be destroyed: %v", err)
		}
	}
}

// await has an execution start and end, and makes the other requests meanwhile.
func (a *arena) await(ctx context.Context, sandbox string, way ending) (*yurt.Result, error) {
	spec := way.spec()
	if err := a.StartExecution(ctx, sandbox, spec); err != nil {
		return nil, err
	}
	if way.end != nil {
		if err := way.end(ctx, a, sandbox, spec.ID); err != nil {
			return nil, err
		}
	}
	if _, err := a.Contexts(ctx, sandbox); err != nil {
		return nil, err
	}
	return a.WaitExecution(ctx, sandbox, spec.ID)
}

// TestSilentInitIsAskedInVain: other requests beside a run are not waited for either.
func TestSilentInitIsAskedInVain(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	a := arenaOf(t, testutil.Start(t, config))
	sandbox := a.create(t, func(*yurt.SandboxSpec) {})
	a.takeOver(t, config.StateDir, sandbox, silences()["silence"])
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
	defer cancel()
	spec := shell("cat")
	spec.StdinOpen = true
	if err := a.StartExecution(ctx, sandbox, spec); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- a.WriteStdin(ctx, sandbox, spec.ID, []byte("x"), false) }()
	for name, do := range map[string]func() error{
		"a signal": func() error { return a.SignalExecution(ctx, sandbox, spec.ID, yurt.Signal(syscall.SIGINT)) },
		"a size": func() error {
			return a.ResizeExecution(ctx, sandbox, spec.ID, yurt.TerminalSize{Rows: 20, Cols: 70})
		},
	} {
		if err := do(); yurt.CodeOf(err) != yurt.CodeSandboxFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := kill(ctx, a, sandbox, spec.ID); err != nil {
		t.Error(err)
	}
	if err := <-written; yurt.CodeOf(err) != yurt.CodeExecutionEnded {
		t.Errorf("stdin: %v", err)
	}
	if err := a.DestroySandbox(t.Context(), sandbox); err != nil {
		t.Error(err)
	}
}
