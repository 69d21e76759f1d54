package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
)

// changes returns the events of a stream of a session's changes, short, until it has so many or ends.
func (s *stream) changes(most int) (list []string) {
	s.t.Helper()
	for len(list) < most {
		e, ok := s.next()
		if !ok {
			break
		}
		if strings.HasPrefix(e.event, ":") {
			list = append(list, e.event)
			continue
		}
		if e.event != "transition" || e.id != fmt.Sprint(e.data.Seq) || e.data.Reason == "" || e.data.At.IsZero() {
			s.t.Errorf("the event %+v is not complete", e)
		}
		list = append(list, e.id+" "+string(e.data.To))
	}
	return list
}

const wantsStream = "text/event-stream"

// TestWatchSession: a watcher gets the changes of a session's state from the first, then each as it comes, and the stream ends with the
// last. Another one goes on after the number that it has seen, also when the session has ended.
func TestWatchSession(t *testing.T) {
	s := newServer(t)
	id := s.session(t, "shell-basic")
	events := "/api/v1/sessions/" + id + "/events"
	st := s.openStream(t, "GET", events, "", "Accept", wantsStream)
	want := []string{"1 creating", "2 ready", "3 paused", "4 ready", "5 terminated"}
	if got := st.changes(2); !slices.Equal(got, want[:2]) {
		t.Fatalf("at first it is told %q, want %q", got, want[:2])
	}
	for i, step := range [][2]string{{"POST", "/pause"}, {"POST", "/resume"}, {"DELETE", ""}} {
		if a := s.do(t, step[0], "/api/v1/sessions/"+id+step[1], ""); a.status != http.StatusOK {
			t.Fatal(a.body)
		}
		if got := st.changes(1); !slices.Equal(got, want[2+i:3+i]) {
			t.Fatalf("after %s %s it is told %q, want %q", step[0], step[1], got, want[2+i:3+i])
		}
	}
	if got := st.changes(1); len(got) != 0 {
		t.Errorf("after the last change came %q", got)
	}
	for _, after := range []string{"5", "9"} {
		if a := s.do(t, "GET", events, "", "Accept", wantsStream, "Last-Event-ID", after); a.status != http.StatusNoContent || a.body != "" {
			t.Errorf("after the last change, number %s, the answer is %d %q, want 204", after, a.status, a.body)
		}
	}
	for after := range want {
		for _, by := range [][]string{{events, "Last-Event-ID", fmt.Sprint(after)}, {events + "?after=" + fmt.Sprint(after)}} {
			again := s.openStream(t, "GET", by[0], "", append(by[1:], "Accept", wantsStream)...)
			if got := again.changes(9); !slices.Equal(got, want[after:]) {
				t.Errorf("%q is told %q, want %q", by, got, want[after:])
			}
		}
	}
	var list struct{ Events []yurt.Transition }
	if s.do(t, "GET", events, "", "Accept", "application/json").decode(t, &list); len(list.Events) != len(want) {
		t.Errorf("as JSON there are %d changes, want %d", len(list.Events), len(want))
	}
}

// TestWatchSessionRefusals: a stream that cannot be is a problem, as any answer.
func TestWatchSessionRefusals(t *testing.T) {
	s := newServer(t)
	events := "/api/v1/sessions/" + s.session(t, "shell-basic") + "/events"
	wantProblem(t, s.do(t, "GET", "/api/v1/sessions/ses_none/events", "", "Accept", wantsStream), yurt.CodeSessionNotFound, "")
	wantProblem(t, s.do(t, "GET", events, "", "Accept", wantsStream, "Last-Event-ID", "s3cret"), yurt.CodeInvalidArgument, "Last-Event-ID")
	wantProblem(t, s.do(t, "GET", events+"?after=-1", "", "Accept", wantsStream), yurt.CodeLimitOutOfRange, "after")
}

// TestWatchSessionHeartbeat: a quiet stream has comments, and one that the server ends says that it can be resumed.
func TestWatchSessionHeartbeat(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Heartbeat = 10 * time.Millisecond })
	st := s.openStream(t, "GET", "/api/v1/sessions/"+s.session(t, "shell-basic")+"/events", "", "Accept", wantsStream)
	if got := st.changes(3); len(got) != 3 || got[2] != ":still running" {
		t.Fatalf("a quiet stream has %q", got)
	}
	s.api.Drain()
	rest := st.changes(1000)
	if len(rest) == 0 || rest[len(rest)-1] != ":the server is shutting down; connect again with Last-Event-ID" {
		t.Errorf("at the end of the server it has %q", rest)
	}
}

// TestWatchSessionLeaves: the server stops watching for a client that left; the check for goroutines at the end of the tests fails
// otherwise.
func TestWatchSessionLeaves(t *testing.T) {
	s := newServer(t)
	st := s.openStream(t, "GET", "/api/v1/sessions/"+s.session(t, "shell-basic")+"/events", "", "Accept", wantsStream)
	st.changes(2)
	st.close()
	ended := make(chan error, 1)
	go func() { ended <- s.Config.Shutdown(context.Background()) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the server still watches for a client that left")
	}
}
