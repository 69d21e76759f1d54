package once_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// server carries out requests to a handler once, over a real store.
type server struct {
	t       *testing.T
	handler http.Handler
	carried int // out
	refusal error
	clock   time.Duration // by which the clock of the server is ahead
}

func newServer(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &server{t: t}
	requests, err := once.New(once.Config{Store: sqlite.Requests(store), Now: func() time.Time { return time.Now().Add(s.clock) }})
	if err != nil {
		t.Fatal(err)
	}
	s.handler = requests.Wrap(func(w http.ResponseWriter, _ *http.Request, err error) {
		s.refusal = err
		w.WriteHeader(http.StatusTeapot)
	})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.carried++
		answer(w, r)
	}))
	return s
}

// send sends a request with a key, as a caller.
func (s *server) send(caller *access.Principal, key, path, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	ctx, done := access.With(context.Background(), caller)
	defer done()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)).WithContext(ctx)
	if key != "" {
		r.Header.Set(once.Header, key)
	}
	w := httptest.NewRecorder()
	s.refusal = nil
	s.handler.ServeHTTP(w, r)
	return w
}

func tenant(name, session string) *access.Principal {
	return &access.Principal{Tenant: name, Session: session}
}

// TestAnswers sends a request with one key twice, for each kind of answer.
func TestAnswers(t *testing.T) {
	const conflict = yurt.CodeIdempotencyConflict
	for name, test := range map[string]struct {
		status       int
		header, body string
		again        int       // how often it is carried out
		refusal      yurt.Code // of the second request
	}{
		"made":          {status: http.StatusCreated, header: "Location: /a", body: `{"a": 1}`, again: 1},
		"no content":    {status: http.StatusNoContent, again: 1},
		"secret":        {status: http.StatusCreated, header: "Cache-Control: no-store", body: `{"key": "s3cret"}`, again: 1, refusal: conflict},
		"large":         {status: http.StatusOK, body: strings.Repeat("x", 100<<10), again: 1, refusal: conflict},
		"stream":        {status: http.StatusOK, header: "Content-Type: text/event-stream", body: "data: 1\n\n", again: 1, refusal: conflict},
		"refused":       {status: http.StatusConflict, body: "{}", again: 2},
		"full":          {status: http.StatusTooManyRequests, again: 2},
		"shutting down": {status: http.StatusServiceUnavailable, again: 2},
		"failed":        {status: http.StatusInternalServerError, again: 1, refusal: conflict},
		"left":          {status: 499, again: 1, refusal: conflict},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); string(body) != "body" || err != nil {
					t.Errorf("the body arrived as %q, error %v", body, err)
				}
				if name, value, found := strings.Cut(test.header, ": "); found {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			caller := tenant("a", "")
			first := s.send(caller, "key", "/x", "body")
			s.clock = time.Minute
			second := s.send(caller, "key", "/x", "body")
			if s.carried != test.again {
				t.Errorf("the request was carried out %d times, want %d", s.carried, test.again)
			}
			if first.Code != test.status || first.Body.String() != test.body {
				t.Errorf("the first answer is %d with %d bytes", first.Code, first.Body.Len())
			}
			if test.refusal != "" {
				if code := yurt.CodeOf(s.refusal); code != test.refusal {
					t.Errorf("the second request has the error %v, want the code %s", s.refusal, test.refusal)
				}
			} else if second.Code != first.Code || second.Body.String() != first.Body.String() || second.Header().Get("Location") != first.Header().Get("Location") {
				t.Errorf("the answers are %d %q and %d %q", first.Code, first.Body, second.Code, second.Body)
			}
			if s.send(caller, "", "/x", "body"); s.carried != test.again+1 {
				t.Error("a request without a key was not carried out")
			}
		})
	}
}

// TestKeysBelongToCallers: tenants and session tokens have keys of their own; one key is for one request.
func TestKeysBelongToCallers(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for n, caller := range []*access.Principal{tenant("a", ""), tenant("b", ""), tenant("a", "ses_a"), tenant("a", "ses_b")} {
		for range 2 {
			s.send(caller, "key", "/x", "body")
		}
		if s.carried != n+1 {
			t.Errorf("after %d callers the request was carried out %d times", n+1, s.carried)
		}
	}
	for _, other := range [][2]string{{"/y", "body"}, {"/x?z=1", "body"}, {"/x", "other"}} {
		if s.send(tenant("a", ""), "key", other[0], other[1]); yurt.CodeOf(s.refusal) != yurt.CodeIdempotencyConflict {
			t.Errorf("another request, %q, has the error %v", other, s.refusal)
		}
	}
	var refusal *yurt.Error
	s.send(tenant("a", ""), strings.Repeat("k", once.MaxKey+1), "/x", "body")
	if !errors.As(s.refusal, &refusal) || refusal.Code != yurt.CodeInvalidArgument || refusal.Field != once.Header {
		t.Errorf("a long key has the error %v", s.refusal)
	}
}

// TestExecutions: a request that began an execution is handed on with it.
func TestExecutions(t *testing.T) {
	var known []string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		id := once.Execution(r.Context())
		known = append(known, id)
		if id == "" {
			once.Began(r.Context(), "exe_a")
		}
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
	})
	for range 3 {
		s.send(tenant("a", ""), "key", "/x", "body")
	}
	if got := fmt.Sprintf("%q", known); got != `["" "exe_a" "exe_a"]` {
		t.Errorf("the requests knew the executions %s", got)
	}
}

// TestRefusedStream: a request whose stream ends without an effect frees its key, also when its client left.
func TestRefusedStream(t *testing.T) {
	refused := true
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		if refused {
			once.Refused(r.Context())
		}
		refused = false
	})
	for range 3 {
		s.send(tenant("a", ""), "key", "/x", "body")
	}
	if s.carried != 2 || yurt.CodeOf(s.refusal) != yurt.CodeIdempotencyConflict {
		t.Errorf("the request was carried out %d times, and then has the error %v; expected twice, and a conflict", s.carried, s.refusal)
	}
}

// TestUnderWay: a request that is sent again while the first one is under way has the answer of the first, or is carried out when that
// one was refused.
func TestUnderWay(t *testing.T) {
	for status, carried := range map[int]int{http.StatusCreated: 1, http.StatusConflict: 2} {
		begun, end := make(chan struct{}, 2), make(chan struct{})
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			<-end
			w.WriteHeader(status)
		})
		answers := make(chan int, 2)
		send := func() { answers <- s.send(tenant("a", ""), "key", "/x", "body").Code }
		go send()
		<-begun
		go send()
		time.Sleep(100 * time.Millisecond) // for the second one to find the first
		close(end)
		if first, second := <-answers, <-answers; first != status || second != status {
			t.Errorf("the answers are %d and %d, expected %d twice", first, second, status)
		}
		if s.carried != carried {
			t.Errorf("a request that is answered by %d was carried out %d times, expected %d", status, s.carried, carried)
		}
	}
}
