package yurtclient

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
)

// TestErrorThatBreaksOff: an error whose text breaks off is a lost answer, and the call is made again.
func TestErrorThatBreaksOff(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"code": "session_`))
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(`{"version": "1"}`))
	}))
	defer server.Close()
	client, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Version(t.Context()); err != nil || got.Version != "1" {
		t.Errorf("the version is %+v (%v), expected that of the second answer", got, err)
	}
}

// TestLostAnswersToRemovals: a removal is repeated when its answer is lost, and has succeeded if the object is gone then. A process is not
// killed again, since a later one may have its number.
func TestLostAnswersToRemovals(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte(`{"id": "x", "state": "terminated"}`))
		case calls.Add(1) == 1:
			panic(http.ErrAbortHandler)
		default:
			code, status := "session_ended", http.StatusConflict
			if strings.HasSuffix(path, "/executions/x") {
				code = "execution_ended"
			} else if strings.Contains(path, "/templates/") {
				code, status = "template_not_found", http.StatusNotFound
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"code": "` + code + `"}`))
		}
	}))
	defer server.Close()
	client, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, remove := range map[string]func() error{
		"session": func() error {
			s, err := client.EndSession(t.Context(), "x")
			if err == nil && s.State != yurt.SessionTerminated {
				t.Errorf("the ended session is %+v, expected the one that the server has", s)
			}
			return err
		},
		"execution": func() error { _, err := client.CancelExecution(t.Context(), "x", "x"); return err },
		"template":  func() error { return client.DeleteTemplate(t.Context(), "x") },
	} {
		calls.Store(0)
		if err := remove(); err != nil || calls.Load() != 2 {
			t.Errorf("%s: %d requests, error %v; expected two and none", name, calls.Load(), err)
		}
		if err := remove(); err == nil {
			t.Errorf("%s: a removal without a lost answer finds the object gone, and has no error", name)
		}
	}
	calls.Store(0)
	if err := (&Sandbox{ID: "x", client: client}).KillProcess(t.Context(), 7); yurt.CodeOf(err) != yurt.CodeUnavailable || calls.Load() != 1 {
		t.Errorf("process: %d requests, error %v; expected one that failed", calls.Load(), err)
	}
}

// TestOutage: a stream without events lasts through the short outages of many hours, and ends when there is no connection for a minute,
// or hardly any.
func TestOutage(t *testing.T) {
	for name, of := range map[string]struct {
		connected, without time.Duration // in turn
		rounds             int
		over               bool
	}{
		"a server started anew each hour":     {time.Hour, 20 * time.Second, 24, false},
		"one outage after a long connection":  {time.Hour, 59 * time.Second, 1, false},
		"an outage of more than a minute":     {time.Hour, 61 * time.Second, 1, true},
		"connections that break at once":      {0, 10 * time.Second, 7, true},
		"connections shorter than the outage": {time.Second, 10 * time.Second, 7, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := newOutage()
				for round := range of.rounds {
					if stream.over() {
						t.Fatalf("it is over after %d rounds, expected that %d begin", round, of.rounds)
					}
					stream.connected()
					time.Sleep(of.connected)
					stream.broke()
					time.Sleep(of.without)
				}
				if stream.over() != of.over {
					t.Errorf("after %d rounds it is over: %t, expected %t", of.rounds, stream.over(), of.over)
				}
			})
		})
	}
}
