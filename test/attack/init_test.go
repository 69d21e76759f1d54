package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/test/testutil"
)

// hostileFrames are frames that no executor sends.
func hostileFrames() map[string][]byte {
	garbage := make([]byte, 64<<10)
	for i := range garbage {
		garbage[i] = byte(rand.Uint32()) //nolint:gosec // chance, not secrecy
	}
	frames := map[string][]byte{
		"garbage":                {},
		"another protocol":       []byte("GET / HTTP/1.1\r\nHost: init\r\n\r\n"),
		"half a header":          {byte(initd.KindStart), 0},
		"more than may be":       {byte(initd.KindStart), 0xff, 0xff, 0xff, 0xff},
		"more than comes":        {byte(initd.KindStart), 0, 0x0f, 0xff, 0xff, '{'},
		"a start of nothing":     initd.AppendFrame(nil, initd.KindStart, []byte("{}")),
		"a start without groups": initd.AppendFrame(nil, initd.KindStart, []byte(`{"id":"x","argv":["/bin/true"],"env":[],"dir":"/","uid":0,"gid":0}`)),
		"nesting":                initd.AppendFrame(nil, initd.KindStart, []byte(strings.Repeat("[", initd.MaxFrame-1))),
		"a signal to all":        initd.AppendFrame(nil, initd.KindSignal, []byte(`{"id":"","signal":9}`)),
		"a place in no zygote":   initd.AppendFrame(nil, initd.KindPlace, []byte(`{"zygote":"x"}`)),
		"an end of its own":      initd.AppendFrame(nil, initd.KindExit, []byte(`{"code":0}`)),
	}
	frames["garbage"] = garbage
	for kind := range 256 {
		if initd.Kind(kind) != initd.KindPing {
			frames[fmt.Sprintf("an empty frame of kind %d", kind)] = initd.AppendFrame(nil, initd.Kind(kind), nil)
		}
	}
	return frames
}

// TestHostileFrames are sent to a sandbox's init, many at a time, while it serves a run. They must
// fail, since each connection is for itself, a frame is bounded, and a frame that init does not
// understand ends only its connection.
func TestHostileFrames(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	a := arenaOf(t, testutil.Start(t, config))
	sandbox := a.create(t, func(*yurt.SandboxSpec) {})
	socket := testutil.InitSocket(t, config.StateDir, sandbox)
	line := shell("echo begun; read x; seq 20000; exit 7")
	line.StdinOpen = true
	if err := a.StartExecution(t.Context(), sandbox, line); err != nil {
		t.Fatal(err)
	}
	waitFor(t, a, sandbox, line.ID, "begun\n")
	var work sync.WaitGroup
	for name, frame := range hostileFrames() {
		work.Go(func() {
			if err := tell(socket, frame); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for range 100 { // that send no frame
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	if err := descriptors(socket); err != nil {
		t.Error(err)
	}
	work.Wait()
	if err := a.WriteStdin(t.Context(), sandbox, line.ID, []byte("\n"), true); err != nil {
		t.Fatal(err)
	}
	r, err := a.WaitExecution(t.Context(), sandbox, line.ID)
	if err != nil || r.ExitCode != 7 || strings.Count(r.Stdout, "\n") != 20001 || !strings.HasSuffix(r.Stdout, "\n20000\n") {
		t.Errorf("the run beside them: %v, %+v", err, r)
	}
	a.works(t, "the sandbox", sandbox)
	a.works(t, "the bystander", a.bystander)
}

// tell sends only the frame, and reads init's answer. That init closes the connection meanwhile is
// an answer too.
func tell(socket string, frame []byte) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write(frame)
	if err == nil {
		err = conn.(*net.UnixConn).CloseWrite()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, conn)
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ENOTCONN) {
		return nil
	}
	return err
}

// descriptors sends with a frame as many descriptors as one message may carry, again and again.
func descriptors(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	rights := syscall.UnixRights(make([]int, 253)...) // of 0, each time
	for err == nil {
		_, _, err = conn.(*net.UnixConn).WriteMsgUnix([]byte{byte(initd.KindStart)}, rights, nil)
	}
	return nil // it had enough of them
}

// TestInitThatWasTakenOver has another process answer in the place of a sandbox's init, as code
// would that has taken it over. It must fail to harm the node, since the node believes only claims
// that a run of the sandbox's own could have made, and waits for no answer beyond the run's
// timeout.
func TestInitThatWasTakenOver(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	a := arenaOf(t, testutil.Start(t, config))
	begun := initd.AppendFrame(nil, initd.KindBegun, []byte(`{"pid":2,"keeps":true}`))
	chunk := func(seq uint64, size int) []byte {
		return initd.AppendChunk(nil, initd.Chunk{Seq: seq, Stream: initd.Stdout, Data: make([]byte, size)})
	}
	for name, answer := range map[string]func(net.Conn) error{
		"it says nothing": func(net.Conn) error { return nil },
		"garbage":         func(w net.Conn) error { return send(w, []byte("HTTP/1.1 200 OK\r\n\r\n")) },
		"a frame too large": func(w net.Conn) error {
			return send(w, []byte{byte(initd.KindBegun), 0xff, 0xff, 0xff, 0xff})
		},
		"an end before the beginning": func(w net.Conn) error {
			return send(w, initd.AppendFrame(nil, initd.KindExit, []byte(`{"code":0}`)))
		},
		"a beginning and no end": func(w net.Conn) error { return send(w, begun) },
		"two beginnings":         func(w net.Conn) error { return send(w, begun, begun) },
		"output of a wrong number": func(w net.Conn) error {
			return send(w, begun, chunk(7, 1))
		},
		"output without end": func(w net.Conn) error {
			err := send(w, begun)
			for seq := uint64(1); err == nil; seq++ {
				err = send(w, chunk(seq, initd.MaxChunk))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandbox := a.create(t, func(*yurt.SandboxSpec) {})
			a.takeOver(t, config.StateDir, sandbox, answer)
			spec := shell("echo believed")
			spec.Timeout = yurt.Duration(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
			defer cancel()
			err := a.StartExecution(ctx, sandbox, spec)
			if err == nil {
				var r *yurt.Result
				if r, err = a.WaitExecution(ctx, sandbox, spec.ID); err == nil && (r.Error == nil || len(r.Stdout) > 1<<20) {
					t.Errorf("it was believed: exit %d, %d bytes, %+v", r.ExitCode, len(r.Stdout), r.Error)
				}
			}
			if ctx.Err() != nil {
				t.Errorf("the node waited for it: %v", err)
			}
			a.works(t, "the bystander", a.bystander)
			if err := a.DestroySandbox(t.Context(), sandbox); err != nil {
				t.Errorf("it cannot be destroyed: %v", err)
			}
		})
	}
}

// takeOver lets answer have the requests to the sandbox's init, from here on until init ends.
func (a *arena) takeOver(t *testing.T, stateDir, sandbox string, answer func(net.Conn) error) {
	t.Helper()
	// A connection that is kept is init's own: a run that goes on takes it.
	long := shell("echo begun; exec sleep 300")
	if err := a.StartExecution(t.Context(), sandbox, long); err != nil {
		t.Fatal(err)
	}
	waitFor(t, a, sandbox, long.ID, "begun\n")
	testutil.TakeOver(t, a.Executor, stateDir, sandbox, answer)
}

func send(w io.Writer, frames ...[]byte) error {
	for _, frame := range frames {
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	return nil
}
