package pkgsocket

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server with that handler, and returns a function that connects to it.
func serve(t *testing.T, handle Handler) func() net.Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewServer(handle).Serve(ctx, listener)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

func ask(t *testing.T, conn net.Conn, line string) *Answers {
	t.Helper()
	if _, err := io.WriteString(conn, line); err != nil {
		t.Fatal(err)
	}
	return NewAnswers(conn)
}

const good = `{"manager":"pip","packages":["six"]}` + "\n"

// TestServer: a request is answered with its progress and its end, however long they are.
func TestServer(t *testing.T) {
	long := strings.Repeat("ü", maxText)
	dial := serve(t, func(_ context.Context, r Request, pid int, tell func(string) error) Answer {
		if pid == 0 || r.Packages[0] != "six" {
			t.Errorf("a request %+v from process %d, want one for six from this process", r, pid)
		}
		return Answer{Error: strings.Repeat("x", 2*MaxAnswer), Installed: []Package{{"six", "1"}}, Present: tell(long) == nil}
	})
	answers, text := ask(t, dial(), good), ""
	for {
		answer, err := answers.Next()
		if err != nil {
			t.Fatal(err)
		}
		text += answer.Text
		if answer.Done {
			if text != long || len(answer.Error) != maxText || !answer.Present || answer.Installed[0].Name != "six" {
				t.Errorf("%d bytes of text, want %d; the end is %.200v", len(text), len(long), answer)
			}
			return
		}
	}
}

// TestServerRefuses: bytes that are no request get an answer that says so, and the next request is served.
func TestServerRefuses(t *testing.T) {
	dial := serve(t, func(context.Context, Request, int, func(string) error) Answer { return Answer{} })
	for _, line := range []string{"nonsense\n", "{}\n", `{"manager":"rpm","packages":["a"]}` + "\n", strings.Repeat("x", MaxRequest) + "\n", `{"manager":"pip","packages":["-e ."]}` + "\n", `{"unknown":1}` + "\n"} {
		conn := dial()
		go func() { _, _ = io.WriteString(conn, line) }()
		if answer, err := NewAnswers(conn).Next(); err != nil || !answer.Done || answer.Error == "" {
			t.Errorf("%.40q: %+v, %v; want an end with an error", line, answer, err)
		}
		conn.Close()
	}
	if answer, err := ask(t, dial(), good).Next(); err != nil || !answer.Done || answer.Error != "" {
		t.Errorf("a request after them: %+v, %v", answer, err)
	}
}

// TestServerBounds: one request is handled at a time, half a request is given up, and a command
// that goes ends its installation.
func TestServerBounds(t *testing.T) {
	var at, most atomic.Int32
	gone, began := make(chan struct{}, 8), make(chan struct{}, 8)
	dial := serve(t, func(ctx context.Context, _ Request, _ int, _ func(string) error) Answer {
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		began <- struct{}{}
		select {
		case <-ctx.Done():
			gone <- struct{}{}
		case <-time.After(2 * time.Second):
		}
		return Answer{}
	})
	first := dial()
	ask(t, first, good)
	<-began
	var others []*Answers
	for range maxConnections - 1 {
		others = append(others, ask(t, dial(), good))
	}
	first.Close()
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the installation of a command that is gone was not ended")
	}
	for _, o := range others {
		if answer, err := o.Next(); err != nil || !answer.Done {
			t.Errorf("one of several: %+v, %v", answer, err)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d requests were handled at once, want 1", most.Load())
	}
	half := ask(t, dial(), good[:10])
	begun := time.Now()
	if answer, err := half.Next(); answer.Error == "" && !errors.Is(err, io.EOF) || time.Since(begun) > 2*requestTimeout {
		t.Errorf("half a request ended after %s with %+v, %v", time.Since(begun), answer, err)
	}
}
