package initd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile listens like yurt-init and answers each connection by the script. Every
// goroutine of it is gone when the test ends.
func hostile(t *testing.T, script func(*net.UnixConn)) *Client {
	t.Helper()
	return hostileUntil(t, func(_ context.Context, conn *net.UnixConn) { script(conn) })
}

// hostileUntil is the same for a script that ends with the test.
func hostileUntil(t *testing.T, script func(context.Context, *net.UnixConn)) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "init.sock")
	file, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				// The deadline ends every script: the peer, not the script, is under test.
				conn.SetDeadline(time.Now().Add(time.Minute))
				script(t.Context(), conn.(*net.UnixConn))
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		group.Wait()
	})
	return NewClient(path)
}

// within fails the test if do takes longer than the time it may, which is a hang.
func within(t *testing.T, limit time.Duration, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > limit {
		t.Errorf("it took %s, at most %s is allowed", took, limit)
	}
}

func readRequest(conn *net.UnixConn) Frame {
	frame, _ := NewReader(conn).Next()
	return frame
}

// answers returns a script that reads the request and writes the bytes.
func answers(frames ...[]byte) func(*net.UnixConn) {
	return func(conn *net.UnixConn) {
		readRequest(conn)
		for _, f := range frames {
			if _, err := conn.Write(f); err != nil {
				return
			}
		}
	}
}

func begun() []byte { return AppendFrame(nil, KindBegun, []byte(`{"pid":7}`)) }

func exited() []byte { return AppendFrame(nil, KindExit, []byte(`{"code":3,"bytes":[6,0,0]}`)) }

func stdout(seq uint64, text string) []byte {
	return AppendChunk(nil, Chunk{Seq: seq, Stream: Stdout, Data: []byte(text)})
}

func request() StartRequest {
	return StartRequest{ID: "exe_1", Argv: []string{"true"}, UID: 1000, GID: 1000}
}

func TestClientAsItShouldGo(t *testing.T) {
	passed := make(chan string, 1)
	client := hostile(t, func(conn *net.UnixConn) {
		buf, oob := make([]byte, 1<<16), make([]byte, 64)
		n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
		if err != nil {
			return
		}
		switch Kind(buf[0]) {
		case KindPing, KindForget, KindSignal:
			WriteMessage(conn, KindOK, nil)
		case KindStart:
			passed <- readPassed(oob[:oobn])
			conn.Write(append(append(begun(), stdout(1, "one")...), append(stdout(2, "two"), exited()...)...))
			io.Copy(io.Discard, conn)
		default:
			WriteMessage(conn, KindError, Failure{Reason: ReasonNotFound, Message: string(buf[frameHeader:n])})
		}
	})
	ctx := t.Context()
	if err := errors.Join(client.Ping(ctx), client.Forget(ctx, "exe_1"), client.Signal(ctx, "exe_1", syscall.SIGINT)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "given")
	if err := os.WriteFile(file, []byte("given"), 0o600); err != nil {
		t.Fatal(err)
	}
	given, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	out, started, err := client.Start(ctx, request(), []*os.File{given})
	if err != nil || started.PID != 7 {
		t.Fatalf("starting gave %+v, %v", started, err)
	}
	defer out.Close()
	if text := <-passed; text != "given" {
		t.Errorf("the descriptor that was passed holds %q", text)
	}
	var text strings.Builder
	for {
		chunk, exit, err := out.Next()
		if err != nil {
			t.Fatal(err)
		}
		if exit != nil {
			if exit.Code != 3 || exit.Bytes[0] != 6 {
				t.Errorf("it ended with %+v", exit)
			}
			break
		}
		text.Write(chunk.Data)
		if err := out.Ack(chunk.Seq); err != nil {
			t.Error(err)
		}
	}
	if text.String() != "onetwo" {
		t.Errorf("the output is %q", text.String())
	}
	_, err = client.Attach(ctx, "exe_2", 5)
	failure := new(Failure)
	if !errors.As(err, &failure) || failure.Reason != ReasonNotFound || failure.Message != `{"id":"exe_2","after":5}` {
		t.Errorf("attaching gave %v", err)
	}
}

func readPassed(oob []byte) string {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return "no control message"
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return "no descriptor"
	}
	file := os.NewFile(uintptr(fds[0]), "passed")
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func TestClientOfNobody(t *testing.T) {
	for name, path := range map[string]string{
		"no socket":    filepath.Join(t.TempDir(), "init.sock"),
		"no directory": "/nowhere/init.sock",
	} {
		if err := NewClient(path).Ping(t.Context()); err == nil {
			t.Errorf("%s: it answered", name)
		}
		if _, _, err := NewClient(path).Start(t.Context(), request(), nil); err == nil {
			t.Errorf("%s: it started a process", name)
		}
	}
}

// TestClientAndAHostileServer lets the server answer each kind of request as a compromised init could. The client must
// soon return an error.
func TestClientAndAHostileServer(t *testing.T) {
	tests := []struct {
		name   string
		script func(*net.UnixConn)
	}{
		{"closes at once", func(*net.UnixConn) {}},
		{"closes after the request", answers()},
		{"sends garbage", answers([]byte("HTTP/1.1 200 OK\r\n\r\n"))},
		{"sends half a frame", answers([]byte{byte(KindOK), 0, 0})},
		{"announces more than the bound", answers([]byte{byte(KindOK), 0xff, 0xff, 0xff, 0xff})},
		{"announces more than it sends", answers([]byte{byte(KindBegun), 0, 0, 1, 0, '{'})},
		{"answers with another kind", answers(exited())},
		{"answers with an unknown kind", answers(AppendFrame(nil, 'z', nil))},
		{"fails, but not in JSON", answers(AppendFrame(nil, KindError, []byte("}{")))},
		{"fails", answers(AppendFrame(nil, KindError, []byte(`{"reason":"fork","message":"no"}`)))},
		{"sends nothing, and waits", func(conn *net.UnixConn) { io.Copy(io.Discard, conn) }},
		{"reads nothing, and waits", nil},
		{"sends ten bytes a second", func(conn *net.UnixConn) {
			for _, b := range AppendFrame(nil, KindBegun, []byte(`{"pid":2}`)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := hostile(t, tt.script)
			if tt.script == nil { // the server does not read, and waits
				client = hostileUntil(t, func(ctx context.Context, _ *net.UnixConn) { <-ctx.Done() })
			}
			// As large as may be, so that it does not fit the socket's buffer.
			big := request()
			big.Env = []string{strings.Repeat("x", MaxFrame-1000)}
			for name, call := range map[string]func(context.Context) error{
				"ping":   client.Ping,
				"signal": func(ctx context.Context) error { return client.Signal(ctx, "exe_1", syscall.SIGKILL) },
				"start": func(ctx context.Context) error {
					out, _, err := client.Start(ctx, big, nil)
					if err == nil {
						out.Close()
					}
					return err
				},
				"start with a descriptor": func(ctx context.Context) error {
					out, _, err := client.Start(ctx, big, []*os.File{os.Stdin})
					if err == nil {
						out.Close()
					}
					return err
				},
				"attach": func(ctx context.Context) error {
					out, err := client.Attach(ctx, "exe_1", 0)
					if err == nil {
						out.Close()
					}
					return err
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				within(t, 10*time.Second, func() {
					if err := call(ctx); err == nil {
						t.Errorf("%s: no error", name)
					}
				})
				cancel()
			}
		})
	}
}

// TestOutputOfAHostileServer has output that no init would send.
func TestOutputOfAHostileServer(t *testing.T) {
	tests := []struct {
		name   string
		frames [][]byte
	}{
		{"ends before its end", [][]byte{stdout(1, "a")}},
		{"begins at 0", [][]byte{stdout(0, "a")}},
		{"begins at 2", [][]byte{stdout(2, "a")}},
		{"repeats a chunk", [][]byte{stdout(1, "a"), stdout(1, "a")}},
		{"leaves a chunk out", [][]byte{stdout(1, "a"), stdout(3, "b")}},
		{"goes back", [][]byte{stdout(1, "a"), stdout(2, "b"), stdout(1, "a")}},
		{"sends an empty chunk", [][]byte{stdout(1, "")}},
		{"sends a chunk too large", [][]byte{stdout(1, strings.Repeat("x", MaxChunk+1))}},
		{"sends an unknown stream", [][]byte{AppendChunk(nil, Chunk{Seq: 1, Stream: 9, Data: []byte("x")})}},
		{"begins twice", [][]byte{begun()}},
		{"says OK", [][]byte{AppendFrame(nil, KindOK, nil)}},
		{"ends with no JSON", [][]byte{AppendFrame(nil, KindExit, []byte("zero"))}},
		{"ends with a number that is none", [][]byte{AppendFrame(nil, KindExit, []byte(`{"code":1e999}`))}},
		{"ends with more streams than there are", [][]byte{AppendFrame(nil, KindExit, []byte(`{"code":"0","bytes":[1,2,3,4,5]}`))}},
		{"sends garbage", [][]byte{[]byte("\x00\x01\x02\x03\x04\x05\x06")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client := hostile(t, answers(append([][]byte{begun()}, tt.frames...)...))
			out, _, err := client.Start(t.Context(), request(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			within(t, 10*time.Second, func() {
				for range 100 {
					_, exit, err := out.Next()
					if err != nil {
						return
					}
					if exit != nil {
						t.Fatalf("it was believed: %+v", exit)
					}
				}
				t.Error("it goes on for ever")
			})
		})
	}
}

func TestOutputGoesOnWhereItWasLeft(t *testing.T) {
	client := hostile(t, answers(begun(), stdout(8, "eight"), exited()))
	out, err := client.Attach(t.Context(), "exe_1", 7)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if chunk, _, err := out.Next(); err != nil || string(chunk.Data) != "eight" {
		t.Errorf("got %q, %v", chunk.Data, err)
	}
	if _, exit, err := out.Next(); err != nil || exit == nil {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// TestWhatCameTogetherIsReadTogether: frames that are there are read at once, and so are had also
// when the connection is gone.
func TestWhatCameTogetherIsReadTogether(t *testing.T) {
	client := hostile(t, answers(bytes.Join([][]byte{begun(), stdout(1, "one"), stdout(2, "two")}, nil)))
	out, _, err := client.Start(t.Context(), request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	for _, want := range []string{"one", "two"} {
		if chunk, _, err := out.Next(); err != nil || string(chunk.Data) != want {
			t.Errorf("got %q, %v", chunk.Data, err)
		}
	}
}

// TestCloseEndsAReadThatWaits is how a watcher of a silent process is got rid of.
// TestConnectionIsKept: where yurt-init says that it keeps connections, the first process is
// asked for on that of the ping, and the next on that of one that was forgotten. Where it does not, as before it could, each
// request has its own.
func TestConnectionIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		ready, begun string
		want         []string // the requests of each connection
	}{
		"kept":                 {`{"keeps":true}`, `{"pid":7,"keeps":true}`, []string{"PSFS"}},
		"as it was before":     {"", `{"pid":7}`, []string{"P", "S", "F", "S"}},
		"as it was in between": {"", `{"pid":7,"keeps":true}`, []string{"P", "SFS"}},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			client := hostile(t, func(conn *net.UnixConn) {
				mu.Lock()
				mine := len(asked)
				asked = append(asked, "")
				mu.Unlock()
				for {
					request := readRequest(conn)
					if request.Kind == 0 {
						return
					}
					mu.Lock()
					asked[mine] += string(request.Kind)
					first := len(asked[mine]) == 1
					mu.Unlock()
					switch {
					case request.Kind == KindStart:
						conn.Write(append(AppendFrame(nil, KindBegun, []byte(c.begun)), exited()...))
					case request.Kind == KindPing:
						conn.Write(AppendFrame(nil, KindOK, []byte(c.ready)))
					case first:
						conn.Write(AppendFrame(nil, KindOK, nil))
					}
				}
			})
			run := func(forget bool) {
				out, _, err := client.Start(t.Context(), request(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer out.Close()
				if _, exit, err := out.Next(); err != nil || exit == nil {
					t.Fatal(exit, err)
				}
				if !forget {
					return
				}
				if err := out.Forget(t.Context(), "exe_1"); err != nil {
					t.Fatal(err)
				}
			}
			if err := client.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			run(true)
			run(false)
			client.Close()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(asked, c.want) {
				t.Errorf("its connections had the requests %q, want %q", asked, c.want)
			}
		})
	}
}

// TestClosedClientKeepsNothing: a closed client closes its idle connection, and any connection that it would keep later.
func TestClosedClientKeepsNothing(t *testing.T) {
	ended := make(chan error, 2)
	client := hostile(t, func(conn *net.UnixConn) {
		readRequest(conn)
		conn.Write(append(AppendFrame(nil, KindBegun, []byte(`{"pid":7,"keeps":true}`)), exited()...))
		readRequest(conn) // to forget it
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	})
	for range 2 { // the second time it is closed before
		out, _, err := client.Start(t.Context(), request(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := out.Next(); err != nil {
			t.Fatal(err)
		}
		if err := out.Forget(t.Context(), "exe_1"); err != nil {
			t.Fatal(err)
		}
		client.Close()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the connection was not closed: %v", err)
		}
	}
}

func TestCloseEndsAReadThatWaits(t *testing.T) {
	client := hostile(t, func(conn *net.UnixConn) {
		readRequest(conn)
		conn.Write(begun())
		io.Copy(io.Discard, conn)
	})
	// A context that ends afterwards does not affect the output.
	ctx, cancel := context.WithCancel(t.Context())
	out, _, err := client.Start(ctx, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	failed := make(chan error)
	go func() {
		_, _, err := out.Next()
		failed <- err
	}()
	select {
	case err := <-failed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	out.Close()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a closed output gave something")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("closing does not end it")
	}
}
