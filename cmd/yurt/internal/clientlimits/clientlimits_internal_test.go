package clientlimits

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestBodiesHaveABudget: bodies beyond the budget are refused, and taken again once others were read.
func TestBodiesHaveABudget(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 8)
	limits := Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		entered <- struct{}{}
		<-release
	}))
	server := httptest.NewServer(limits)
	defer server.Close()
	post := func(path string) int {
		// A body without a length counts as the longest.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+path, io.MultiReader(strings.NewReader("x")))
		if err != nil {
			t.Error(err)
			return 0
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for range maxBodies / maxBody {
		go post("/api/v1/sessions")
		<-entered
	}
	if status := post("/api/v1/sessions"); status != http.StatusTooManyRequests {
		t.Errorf("a body beyond the budget is answered with %d, want 429", status)
	}
	close(release)
	deadline := time.Now().Add(5 * time.Second)
	for post("/api/v1/sessions") != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("bodies are refused after the others were read")
		}
	}
}

// TestClientThatStopsReading: the connection of a client that reads no byte of an answer has a deadline.
func TestClientThatStopsReading(t *testing.T) {
	conn := &deadlines{}
	limits := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 3*pieceLimit))
	}))
	limits.ServeHTTP(conn, httptest.NewRequest(http.MethodGet, "/", nil))
	if len(conn.write) != 4 { // one a piece, and one for the end
		t.Errorf("the answer had the deadlines %v, want one a piece", conn.write)
	}
	for _, at := range conn.write {
		if left := time.Until(at); left > progressLimit || left < progressLimit/2 {
			t.Errorf("a deadline is in %s", left)
		}
	}
	upload := httptest.NewRequest(http.MethodPut, "/api/v1/sessions/ses_a/files/name", bytes.NewReader([]byte("content")))
	Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
	})).ServeHTTP(conn, upload)
	if len(conn.read) < 2 || !conn.read[len(conn.read)-1].IsZero() {
		t.Errorf("the upload had the deadlines %v, want some, and none at its end", conn.read)
	}
}

// TestConnectionsAreCapped: a connection beyond the cap waits until another one ends.
func TestConnectionsAreCapped(t *testing.T) {
	open, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := Listen(open)
	defer listener.Close()
	accepted := make(chan net.Conn, MaxConnections+1)
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	var first net.Conn
	for n := range MaxConnections + 1 {
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", open.Addr().String())
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		t.Cleanup(func() { client.Close() })
		if n == MaxConnections {
			break
		}
		served := <-accepted
		t.Cleanup(func() { served.Close() })
		if n == 0 {
			first = served
		}
	}
	select {
	case <-accepted:
		t.Fatalf("connection %d is served beside the others", MaxConnections+1)
	case <-time.After(200 * time.Millisecond):
	}
	first.Close()
	select {
	case conn := <-accepted:
		conn.Close()
	case <-time.After(5 * time.Second):
		t.Error("a connection still waits after another one has ended")
	}
}

// deadlines is a connection that notes its deadlines.
type deadlines struct {
	httptest.ResponseRecorder

	read, write []time.Time
}

func (d *deadlines) Header() http.Header { return http.Header{} }

func (d *deadlines) Write(p []byte) (int, error) { return len(p), nil }

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, at)
	return nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = append(d.write, at)
	return nil
}
