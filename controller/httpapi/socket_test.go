package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
)

// restOfSocket returns the remaining events of a WebSocket, short, and the status that ended them.
func restOfSocket(t *testing.T, s *server, path string) ([]string, websocket.StatusCode) {
	t.Helper()
	conn, ctx := s.dialPath(t, path)
	var list []string
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return list, websocket.CloseStatus(err)
		}
		var event struct {
			Type, Data string
		}
		if err := json.Unmarshal(data, &event); err != nil || kind != websocket.MessageText {
			t.Fatalf("message %s: %v", data, err)
		}
		list = append(list, strings.TrimSpace(event.Type+" "+event.Data))
	}
}

// TestStreamBySocket has the events that a stream has, by WebSocket: live, again, and
// after the last that was seen.
func TestStreamBySocket(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Heartbeat = 5 * time.Millisecond })
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	live := s.openStream(t, "POST", path+"/execute", `{"command": "echo a block echo b", "stream": true}`)
	live.next()
	events := live.resp.Header.Get("Location") + "/events"
	conn, ctx := s.dialPath(t, events)
	for _, want := range []string{`"type":"started"`, `"data":"a\n"`} {
		if got := next(ctx, t, conn); !strings.Contains(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	reading := conn.CloseRead(ctx) // it answers pings
	if err := conn.Ping(ctx); err != nil {
		t.Error(err)
	}
	conn.CloseNow() // and leaves; the watched execution goes on
	<-reading.Done()
	s.node.Release()
	want := []string{"started", "stdout a", "stdout b", "ended"}
	for query, want := range map[string][]string{"": want, "?after=2": want[2:]} {
		got, status := restOfSocket(t, s, events+query)
		if diff := cmp.Diff(want, got); diff != "" || status != websocket.StatusNormalClosure {
			t.Errorf("events%s (-want +got), closed with %d:\n%s", query, status, diff)
		}
	}
	if rest := s.openStream(t, "GET", events+"?after=3", "").rest(); len(rest) != 1 {
		t.Errorf("a stream after the third event has %q", rest)
	}
}

// TestSocketOfAServerThatDrains: watchers and users of terminals learn of the drain.
func TestSocketOfAServerThatDrains(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Heartbeat = time.Millisecond })
	session := s.session(t, "python-basic")
	live := s.openStream(t, "POST", "/api/v1/sessions/"+session+"/execute", `{"command": "block", "stream": true}`)
	live.next()
	watcher, ctx := s.dialPath(t, live.resp.Header.Get("Location")+"/events")
	terminal, _ := s.dial(t, session, "command=block")
	next(ctx, t, watcher)
	next(ctx, t, terminal)
	s.api.Drain()
	for name, conn := range map[string]*websocket.Conn{"watcher": watcher, "terminal": terminal} {
		if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("the %s was told %v", name, err)
		}
	}
}

func TestSocketThatIsRefused(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	a := s.do(t, "POST", path+"/execute", `{"command": "echo a"}`)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	wantProblem(t, s.do(t, "GET", path+"/executions/exe_none/events", "", upgrade...), yurt.CodeExecutionNotFound, "")
	events := a.header.Get("Location") + "/events"
	wantProblem(t, s.do(t, "GET", events, "", append(upgrade, "Origin", "http://evil.example")...), yurt.CodeForbidden, "Origin")
	own := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.URL}}}
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+events, own)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if got := next(t.Context(), t, conn); !strings.Contains(got, "started") {
		t.Errorf("a page of the server's own gets %s", got)
	}
}
