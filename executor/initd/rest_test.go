package initd

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// begins answers the first request, and then does as the script says.
func begins(script func(*net.UnixConn)) func(*net.UnixConn) {
	return func(conn *net.UnixConn) {
		readRequest(conn)
		if _, err := conn.Write(begun()); err == nil {
			script(conn)
		}
	}
}

func repeats(size int, pace time.Duration) func(*net.UnixConn) {
	return begins(func(conn *net.UnixConn) {
		for seq := uint64(1); ; seq++ {
			if _, err := conn.Write(AppendChunk(nil, Chunk{Seq: seq, Stream: Stdout, Data: make([]byte, size)})); err != nil {
				return
			}
			time.Sleep(pace)
		}
	})
}

// TestKilledAndNoEnd: the wait for a killed process ends after the given time, even if yurt-init sends output meanwhile.
func TestKilledAndNoEnd(t *testing.T) {
	for name, script := range map[string]func(*net.UnixConn){
		"silence":      begins(func(conn *net.UnixConn) { io.Copy(io.Discard, conn) }),
		"crumbs":       repeats(1, 10*time.Millisecond),
		"a flood":      repeats(MaxChunk, 0),
		"half a frame": begins(func(conn *net.UnixConn) { conn.Write(stdout(1, "one")[:3]); io.Copy(io.Discard, conn) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := hostile(t, script).Start(t.Context(), request(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			waiting := make(chan error)
			go func() {
				var err error
				for err == nil {
					_, _, err = out.Next()
				}
				waiting <- err
			}()
			out.Killed(300 * time.Millisecond)
			out.Killed(time.Hour) // the first time counts
			if err := <-waiting; !errors.Is(err, ErrSilent) {
				t.Errorf("it ended with %v", err)
			}
			if _, _, err := out.Next(); !errors.Is(err, ErrSilent) {
				t.Errorf("and then with %v", err)
			}
		})
	}
}

// TestKilledAndItsCallerIsSlow: time that the caller spends between reads does not count as yurt-init's.
func TestKilledAndItsCallerIsSlow(t *testing.T) {
	sent := make(chan struct{})
	out, _, err := hostile(t, begins(func(conn *net.UnixConn) {
		conn.Write(append(append(stdout(1, "one"), stdout(2, "two")...), exited()...))
		close(sent)
		io.Copy(io.Discard, conn)
	})).Start(t.Context(), request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	<-sent
	const patience = time.Second
	out.Killed(patience)
	for _, want := range []string{"one", "two"} {
		time.Sleep(patience) // as a watcher may
		if chunk, _, err := out.Next(); err != nil || string(chunk.Data) != want {
			t.Fatalf("got %q, %v", chunk.Data, err)
		}
	}
	if _, exit, err := out.Next(); err != nil || exit == nil {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// TestKilledAndItsConnectionIsKept: the next process has the connection without the bound.
func TestKilledAndItsConnectionIsKept(t *testing.T) {
	const patience = 200 * time.Millisecond
	client := hostile(t, func(conn *net.UnixConn) {
		for readRequest(conn).Kind == KindStart {
			conn.Write(append(AppendFrame(nil, KindBegun, []byte(`{"pid":7,"keeps":true}`)), exited()...))
			readRequest(conn) // to forget it
			time.Sleep(2 * patience)
		}
	})
	defer client.Close()
	for range 2 {
		out, _, err := client.Start(t.Context(), request(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { out.Close() })
		out.Killed(patience)
		if _, exit, err := out.Next(); err != nil || exit == nil {
			t.Fatalf("got %+v, %v", exit, err)
		}
		if err := out.Forget(t.Context(), "exe_1"); err != nil {
			t.Fatal(err)
		}
		out.Killed(patience) // too late
	}
}
