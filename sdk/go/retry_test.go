package yurtclient

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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
