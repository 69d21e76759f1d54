package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// begin starts a shell line in a session and returns the path of its execution.
func (s *server) begin(t testing.TB, session, script, more string) string {
	t.Helper()
	a := s.do(t, "POST", "/api/v1/sessions/"+session+"/execute", `{"command": "`+script+`", "async": true`+more+`}`)
	var e yurt.Execution
	if a.decode(t, &e); a.status != http.StatusAccepted {
		t.Fatalf("starting %q: %d %s", script, a.status, a.body)
	}
	return "/api/v1/sessions/" + session + "/executions/" + e.ID
}

func TestControlAnExecution(t *testing.T) {
	s := newServer(t)
	session := s.session(t, "shell-basic")
	execution := s.begin(t, session, "read read trap end", `, "stdin_open": true, "tty": {"rows": 10}`)
	for _, step := range []struct{ verb, body string }{
		{"stdin", `{"data": "one,"}`},
		{"stdin", `{"data_base64": "dHdv", "eof": true}`},
		{"signal", `{"signal": "int"}`},
	} {
		if a := s.do(t, "POST", execution+"/"+step.verb, step.body); a.status != http.StatusNoContent || a.body != "" {
			t.Errorf("%s %s: %d %s", step.verb, step.body, a.status, a.body)
		}
	}
	events := s.openStream(t, "GET", execution+"/events", "")
	if got := strings.Join(events.rest(), "|"); !strings.Contains(got, "one,") || !strings.Contains(got, "twoEOF") || !strings.Contains(got, "SIGINT") {
		t.Errorf("it had %s", got)
	}
	for _, verb := range []string{"stdin", "signal", "resize"} {
		body := map[string]string{"stdin": `{"eof": true}`, "signal": `{"signal": 2}`, "resize": `{}`}[verb]
		wantProblem(t, s.do(t, "POST", execution+"/"+verb, body), yurt.CodeExecutionEnded, "")
		wantProblem(t, s.do(t, "POST", execution[:len(execution)-26]+strings.Repeat("a", 26)+"/"+verb, body), yurt.CodeExecutionNotFound, "")
	}
}

func TestBadControl(t *testing.T) {
	s := newServer(t)
	session := s.session(t, "shell-basic")
	execution := s.begin(t, session, "block", "")
	for _, tt := range []struct {
		verb, body string
		code       yurt.Code
		field      string
	}{
		{"signal", `{"signal": "SIGNONE"}`, yurt.CodeInvalidArgument, "signal"},
		{"signal", `{"signal": 65}`, yurt.CodeInvalidArgument, "signal"},
		{"signal", `{"signal": true}`, yurt.CodeInvalidArgument, "signal"},
		{"signal", `{}`, yurt.CodeInvalidArgument, "signal"},
		{"stdin", `{"data": "a", "data_base64": "YQ=="}`, yurt.CodeInvalidArgument, "data_base64"},
		{"stdin", `{"data_base64": "?"}`, yurt.CodeInvalidArgument, "data_base64"},
		{"resize", `{"rows": 5000}`, yurt.CodeLimitOutOfRange, "tty.rows"},
		{"resize", `{"rows": -1}`, yurt.CodeInvalidArgument, "rows"},
		{"resize", `{"height": 1}`, yurt.CodeUnknownField, "height"},
	} {
		wantProblem(t, s.do(t, "POST", execution+"/"+tt.verb, tt.body), tt.code, tt.field)
	}
	execute := "/api/v1/sessions/" + session + "/execute"
	wantProblem(t, s.do(t, "POST", execute, `{"command": "block", "tty": {"rows": 4097}}`), yurt.CodeLimitOutOfRange, "tty.rows")
	wantProblem(t, s.do(t, "POST", execute, `{"command": "block", "tty": {"width": 1}}`), yurt.CodeUnknownField, "tty.width")
}
