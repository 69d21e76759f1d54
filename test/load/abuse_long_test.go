//go:build long

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// abuse is a way to harm a server by requests. It goes on until ctx ends, and counts what it did.
type abuse struct {
	name    string
	clients int
	pause   time.Duration // of each client between two acts, so that the client itself leaves the processors to the server
	act     func(ctx context.Context, s *server) error
}

// The bystander's work beside abuse: p99 at most doubles, in one of some rounds, since other programs of the machine disturb a round, and
// abuse disturbs each. Below atLeast the time is that of the processors, which abuser, bystander and server share in a test alone: on two
// processors, of which each takes 1.7 ms for fork and exec, p99 without abuse was between 17 and 47 ms.
const (
	rounds   = 3
	beside   = 8 * time.Second
	factor   = 2
	atLeast  = 50 * time.Millisecond
	fewest   = 100     // acts of an abuser, without which it did not abuse
	deepJSON = 1 << 20 // levels
)

// TestAbuse: beside floods of headers, slow clients, bodies of 100 MB, deep JSON and thousands of wrong keys the p99 of another tenant's
// requests at most doubles, and no request of it fails.
func TestAbuse(t *testing.T) {
	s := serve(t, "--memory-overcommit", "1000")
	client := s.tenant(t, "bystander")
	session, err := client.CreateSession(t.Context(), small())
	if err != nil {
		t.Fatal(err)
	}
	work := func() error {
		e, err := client.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo works"}})
		if err == nil && (e.Result == nil || e.Result.Stdout != "works\n") {
			err = fmt.Errorf("the execution ended as %+v", e.Result)
		}
		return err
	}
	measure(t, time.Second, work) // the first ones start what the others find
	for _, a := range abuses() {
		t.Run(a.name, func(t *testing.T) {
			for round := range rounds {
				if a.leaves(t, s, work) {
					return
				}
				t.Logf("round %d of %d is over the bound", round+1, rounds)
			}
			t.Errorf("beside the abuser p99 more than doubles in each of %d rounds", rounds)
		})
	}
	if now := s.figures(t); now.memory > 2*mostMemory {
		t.Errorf("after all that the server has %s", now)
	}
}

// leaves reports whether the abuse leaves others their p99.
func (a abuse) leaves(t *testing.T, s *server, work func() error) bool {
	t.Helper()
	alone := measure(t, beside, work)
	var done atomic.Int64
	stop := a.begin(t, s, &done)
	defer stop()
	with := measure(t, beside, work)
	t.Logf("p99 is %s beside %d acts, and %s alone", with, done.Load(), alone)
	if done.Load() < fewest/int64(max(1, a.pause/(10*time.Millisecond))) {
		t.Errorf("the abuser did %d acts; it did not abuse", done.Load())
	}
	return with <= max(factor*alone, atLeast)
}

// measure does a work again and again, and returns the p99 of its time. Each work must succeed.
func measure(t *testing.T, length time.Duration, work func() error) time.Duration {
	t.Helper()
	var took []time.Duration
	for end := time.Now().Add(length); time.Now().Before(end); {
		began := time.Now()
		if err := work(); err != nil {
			t.Fatalf("the bystander's work failed: %v", err)
		}
		took = append(took, time.Since(began))
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// begin starts the clients of an abuse. The returned function ends them.
func (a abuse) begin(t *testing.T, s *server, done *atomic.Int64) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var acting sync.WaitGroup
	for range a.clients {
		acting.Go(func() {
			for ctx.Err() == nil {
				if err := a.act(ctx, s); err != nil && ctx.Err() == nil {
					t.Errorf("the abuser saw %v", err)
					return
				}
				done.Add(1)
				time.Sleep(a.pause)
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); acting.Wait() })
}

func abuses() []abuse {
	large, deep := make([]byte, 100<<20), `{"metadata":`+strings.Repeat("[", deepJSON)
	return []abuse{
		{name: "headers without end", clients: 20, pause: 10 * time.Millisecond, act: endlessHeaders},
		{name: "slow clients", clients: 500, pause: 100 * time.Millisecond, act: slowClient},
		{name: "bodies of 100 MB", clients: 4, pause: 100 * time.Millisecond, act: func(ctx context.Context, s *server) error {
			return s.refused(ctx, bytes.NewReader(large), s.key)
		}},
		{name: "deep JSON", clients: 4, pause: 100 * time.Millisecond, act: func(ctx context.Context, s *server) error {
			return s.refused(ctx, strings.NewReader(deep), s.key)
		}},
		{name: "wrong keys", clients: 50, pause: 5 * time.Millisecond, act: func(ctx context.Context, s *server) error {
			return s.refused(ctx, strings.NewReader(`{}`), "yurt_"+strings.Repeat("wrong", 8))
		}},
	}
}

// refused creates a session by a request that must be refused.
func (s *server) refused(ctx context.Context, body io.Reader, key string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/v1/sessions", body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.crowd.Do(req)
	if err != nil {
		return ended(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return ended(err)
	}
	if resp.StatusCode < http.StatusBadRequest || resp.StatusCode >= http.StatusInternalServerError && resp.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("a request that must be refused is answered %s", resp.Status)
	}
	return nil
}

// ended returns nil for the error of a connection that the server has ended, as it may.
func ended(err error) error {
	var network *net.OpError
	if errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// endlessHeaders sends headers until the server ends the connection.
func endlessHeaders(ctx context.Context, s *server) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	lines := strings.Repeat("X-Flood: "+strings.Repeat("x", 1000)+"\r\n", 64) // so that the client has little to do for its flood
	if _, err := io.WriteString(conn, "GET /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n"); err != nil {
		return ended(err)
	}
	const most = 100 << 20
	for sent := 0; sent < most; sent += len(lines) {
		if _, err := io.WriteString(conn, lines); err != nil {
			return ended(err)
		}
	}
	return errors.New("the server took 100 MB of headers")
}

// slowClient sends a byte of a request now and then.
func slowClient(ctx context.Context, s *server) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, b := range []byte("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{") {
		if _, err := conn.Write([]byte{b}); err != nil {
			return ended(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func (s *server) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", strings.TrimPrefix(s.URL, "http://"))
}
