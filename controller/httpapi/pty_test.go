package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// dial opens a terminal of a session.
func (s *server) dial(t *testing.T, session, query string) (*websocket.Conn, context.Context) {
	t.Helper()
	return s.dialPath(t, "/api/v1/sessions/"+session+"/pty?"+query)
}

// dialPath opens a WebSocket.
func (s *server) dialPath(t *testing.T, path string) (*websocket.Conn, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.URL, "http")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	return conn, ctx
}

// next returns the next message, binary ones with a mark before.
func next(ctx context.Context, t *testing.T, conn *websocket.Conn) string {
	t.Helper()
	kind, data, err := conn.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if kind == websocket.MessageBinary {
		return ">" + string(data)
	}
	return string(data)
}

func TestTerminal(t *testing.T) {
	s := newServer(t)
	session := s.session(t, "shell-basic")
	conn, ctx := s.dial(t, session, "command=read+trap+end+exit+3&rows=10")
	started := next(ctx, t, conn)
	if !strings.HasPrefix(started, `{"type":"started","execution_id":"exe_`) {
		t.Fatalf("it began with %s", started)
	}
	for _, step := range []struct {
		kind       websocket.MessageType
		send, want string
	}{
		{websocket.MessageBinary, "typed", ">typed"},
		{websocket.MessageText, `{"type": "resize", "rows": 1, "cols": 2}`, ">resized"},
		{websocket.MessageText, `{"type": "resize"}`, `{"type":"failed","error":{"type":"limit_out_of_range"`},
		{websocket.MessageText, `{"type": "none"}`, `{"type":"failed","error":{"type":"invalid_argument"`},
		{websocket.MessageText, `{"type": "signal"}`, `{"type":"failed","error":{"type":"invalid_argument"`},
		{websocket.MessageText, `]`, `{"type":"failed","error":{"type":"malformed_body"`},
		{websocket.MessageText, `{"type": "signal", "signal": "INT"}`, ">SIGINT"},
	} {
		if err := conn.Write(ctx, step.kind, []byte(step.send)); err != nil {
			t.Fatal(err)
		}
		if got := next(ctx, t, conn); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s was answered with %s", step.send, got)
		}
	}
	if got := next(ctx, t, conn); got != ">end" {
		t.Errorf("got %s", got)
	}
	if got := next(ctx, t, conn); got != `{"type":"exited","exit_code":3}` {
		t.Errorf("it ended with %s", got)
	}
	if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("it was closed by %v", err)
	}
}

// TestTerminalIsLeft closes a terminal in two ways: its program goes on when the connection broke, and gets a signal
// when its user hung up.
func TestTerminalIsLeft(t *testing.T) {
	s := newServer(t)
	session := s.session(t, "shell-basic")
	conn, ctx := s.dial(t, session, "command=echo+a+trap+end")
	id := strings.Split(next(ctx, t, conn), `"`)[7]
	if got := next(ctx, t, conn); got != ">a\n" {
		t.Fatalf("got %s", got)
	}
	conn.CloseNow()

	again, ctx := s.dial(t, session, "execution_id="+id+"&after=1")
	next(ctx, t, again)
	if got := next(ctx, t, again); got != ">a\n" {
		t.Errorf("what was shown is shown again as %s", got)
	}
	if err := again.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	events := s.openStream(t, "GET", "/api/v1/sessions/"+session+"/executions/"+id+"/events", "")
	if got := strings.Join(events.rest(), "|"); !strings.Contains(got, "SIGHUP") {
		t.Errorf("it had %s", got)
	}
}

// TestClientOpensTerminalAgain: the Go client counts the events of a terminal, and goes on after one when it opens the terminal again.
func TestClientOpensTerminalAgain(t *testing.T) {
	s := newServer(t)
	c, ctx, session := newClient(t, s.URL), t.Context(), s.session(t, "shell-basic")
	open := func(req yurtclient.TerminalRequest) *yurtclient.Terminal {
		t.Helper()
		terminal, err := c.OpenTerminal(ctx, session, req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { terminal.Close() })
		return terminal
	}
	first := open(yurtclient.TerminalRequest{Command: "echo a trap end"})
	if data, _, err := first.Next(ctx); string(data) != "a\n" || err != nil || first.Last() != 2 {
		t.Fatalf("it shows %q, error %v, as event %d; expected a line as event 2", data, err, first.Last())
	}
	first.Close() // the connection breaks
	all := open(yurtclient.TerminalRequest{ExecutionID: first.ExecutionID})
	if data, _, err := all.Next(ctx); string(data) != "a\n" || err != nil || all.Last() != 2 {
		t.Errorf("opened again it shows %q, error %v, as event %d; expected all of it", data, err, all.Last())
	}
	rest := open(yurtclient.TerminalRequest{ExecutionID: first.ExecutionID, After: first.Last()})
	if err := all.HangUp(); err != nil {
		t.Fatal(err)
	}
	if data, _, err := rest.Next(ctx); string(data) != "SIGHUP" || err != nil {
		t.Errorf("opened after its last event it shows %q, error %v; expected the next output", data, err)
	}
}

func TestTerminalThatIsRefused(t *testing.T) {
	s := newServer(t)
	session := s.session(t, "shell-basic")
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	path := "/api/v1/sessions/" + session + "/pty"
	wantProblem(t, s.do(t, "GET", path+"?execution_id=exe_none", "", upgrade...), yurt.CodeExecutionNotFound, "")
	wantProblem(t, s.do(t, "GET", path+"?command=true", "", append(upgrade, "Origin", "http://evil.example")...), yurt.CodeForbidden, "Origin")
	wantProblem(t, s.do(t, "GET", path+"?command=true", ""), yurt.CodeInvalidArgument, "Upgrade")
	if a := s.do(t, "GET", "/api/v1/sessions/"+session+"/executions", ""); a.status != http.StatusOK || strings.Contains(a.body, "exe_") {
		t.Errorf("something was started all the same: %s", a.body)
	}
}
