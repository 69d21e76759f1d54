package clientlimits

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// sender sends bodies to a handler that reads them and ends when the test lets it.
type sender struct {
	url     string
	entered chan struct{}
}

func newSender(t *testing.T) (s *sender, let func()) {
	t.Helper()
	release := make(chan struct{})
	s = &sender{entered: make(chan struct{}, 8)}
	server := httptest.NewServer(Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.entered <- struct{}{}
		<-release
	})))
	s.url = server.URL
	let = sync.OnceFunc(func() { close(release) })
	t.Cleanup(func() { let(); server.Close() })
	return s, let
}

// send returns the status and the text of the answer to a body of a client.
func (s *sender) send(t *testing.T, client, path string, body io.Reader) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.url+path, body)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	req.Header.Set("Authorization", client)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(data)
}

// endless is a body without a length, which counts as the longest.
func endless() io.Reader { return io.MultiReader(strings.NewReader("x")) }

// TestBodiesHaveABudget: bodies beyond the budget are refused, and taken again once others have ended. One client holds half of the
// budget at most, and large bodies do not keep small ones out.
func TestBodiesHaveABudget(t *testing.T) {
	s, let := newSender(t)
	const path, each = "/api/v1/sessions", maxBodies / maxBody / 2
	var sending sync.WaitGroup
	for _, client := range []string{"greedy", "other"} {
		for range each {
			sending.Go(func() { s.send(t, client, path, endless()) })
			<-s.entered
		}
		if status, _ := s.send(t, client, path, endless()); status != http.StatusTooManyRequests {
			t.Errorf("a body of %s beyond half of the budget is answered with %d, want 429", client, status)
		}
	}
	if status, _ := s.send(t, "third", path, endless()); status != http.StatusTooManyRequests {
		t.Errorf("a body beyond the budget is answered with %d, want 429", status)
	}
	sending.Go(func() {
		if status, text := s.send(t, "third", path, strings.NewReader("small")); status != http.StatusOK {
			t.Errorf("a small body beside large ones is answered with %d, %s", status, text)
			s.entered <- struct{}{}
		}
	})
	<-s.entered
	let()
	sending.Wait()
	if status, text := s.send(t, "greedy", path, endless()); status != http.StatusOK {
		t.Errorf("after the others have ended a body is answered with %d, %s", status, text)
	}
}

// TestTooLargeBodyIsNotRead: a body that says that it is too large is refused before it is read, unless it is a file.
func TestTooLargeBodyIsNotRead(t *testing.T) {
	s, let := newSender(t)
	let()
	status, text := s.send(t, "client", "/api/v1/sessions", bytes.NewReader(make([]byte, maxBody+1)))
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, `"title":"Body too large"`) || !strings.Contains(text, "larger than the 64Mi") {
		t.Errorf("a body of more than 64 MiB is answered with %d, %s", status, text)
	}
	if len(s.entered) != 0 {
		t.Error("the handler was called for a body that is too large")
	}
	if status, text := s.send(t, "client", "/api/v1/sessions/ses_a/files/name", bytes.NewReader(make([]byte, maxBody+1))); status != http.StatusOK {
		t.Errorf("a file of more than 64 MiB is answered with %d, %s", status, text)
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
