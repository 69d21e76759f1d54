package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
)

func TestExecute(t *testing.T) {
	s := newServer(t)
	python, polyglot := s.session(t, "python-basic"), s.session(t, "polyglot")
	tests := []struct {
		name, session, body string
		want                map[string]string // parts of the answer
	}{
		{"code in the template's only language", python, `{"code": "echo hi"}`, map[string]string{"stdout": `"hi\n"`, "language": `"python"`, "exit_code": "0", "state": `"succeeded"`, "result": "null", "error": "null", "artifacts": "[]"}},
		{"code in a named language", polyglot, `{"code": "echo hi", "language": "js"}`, map[string]string{"language": `"js"`, "kind": `"code"`}},
		{"a shell line", python, `{"command": "echo line"}`, map[string]string{"stdout": `"line\n"`, "kind": `"command"`}},
		{"argv", python, `{"command": ["x", "warn argv"]}`, map[string]string{"stderr": `"argv\n"`}},
		{"a handler", python, `{"code": "x", "handler": "handler", "event": {"n": 1.50}}`, map[string]string{"result": `{"n":1.50}`, "kind": `"handler"`}},
		{"an event implies a handler", python, `{"code": "x", "event": null}`, map[string]string{"result": "null", "kind": `"handler"`}},
		{"__timeout is not passed on", python, `{"code": "x", "event": {"__timeout": "2s", "a": 1}, "timeout": 1}`, map[string]string{"result": `{"a":1}`}},
		{"a failure is no error of the request", python, `{"code": "raise"}`, map[string]string{"state": `"failed"`, "exit_code": "1", "error": `{"type":"ValueError","message":"raised","stacktrace":["line 1"]}`}},
		{"output that is not UTF-8", python, `{"command": "raw"}`, map[string]string{"stdout": `"�\u0000"`}},
		{"environment", python, `{"command": "env A", "env": {"A": "b"}}`, map[string]string{"stdout": `"b\n"`}},
		{"limits as text", python, `{"command": "true", "timeout": "1m", "output_limit": "1Mi"}`, map[string]string{"exit_code": "0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := s.do(t, "POST", "/api/v1/sessions/"+test.session+"/execute", test.body)
			if a.status != http.StatusOK {
				t.Fatalf("answer %d %s", a.status, a.body)
			}
			var got map[string]rawJSON
			a.decode(t, &got)
			for field, want := range test.want {
				if string(got[field]) != want {
					t.Errorf("%s is %s, want %s", field, got[field], want)
				}
			}
			if !strings.HasSuffix(a.header.Get("Location"), strings.Trim(string(got["execution_id"]), `"`)) {
				t.Errorf("Location %q does not name execution %s", a.header.Get("Location"), got["execution_id"])
			}
		})
	}
}

type rawJSON []byte

func (r *rawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// TestAnswerBeforeLog: the client has the whole answer before the request is logged.
func TestAnswerBeforeLog(t *testing.T) {
	answered := make(chan struct{})
	waits := waitingLog{Handler: slog.DiscardHandler, of: new(atomic.Bool), until: answered, late: make(chan struct{}, 1)}
	s := newServer(t, func(c *httpapi.Config) { c.Logger = slog.New(waits) })
	session := s.session(t, "python-basic")
	waits.of.Store(true)
	if a := s.do(t, "POST", "/api/v1/sessions/"+session+"/execute", `{"code": "echo hi"}`); a.status != http.StatusOK {
		t.Errorf("answer %d %s", a.status, a.body)
	}
	close(answered)
	select {
	case <-waits.late:
		t.Error("the answer came after the request was logged")
	default:
	}
}

// waitingLog is a log in which a request takes until its answer was read.
type waitingLog struct {
	slog.Handler
	of    *atomic.Bool // requests from here on
	until <-chan struct{}
	late  chan struct{} // has one when it was not read
}

func (l waitingLog) Enabled(context.Context, slog.Level) bool { return true }

func (l waitingLog) Handle(_ context.Context, record slog.Record) error {
	if record.Message != "request" || !l.of.Load() {
		return nil
	}
	select {
	case <-l.until:
	case <-time.After(5 * time.Second):
		l.late <- struct{}{}
	}
	return nil
}

func TestAsync(t *testing.T) {
	s := newServer(t)
	id := s.session(t, "shell-basic")
	wantProblem(t, s.do(t, "GET", "/api/v1/sessions/"+id+"/status", ""), yurt.CodeExecutionNotFound, "")
	a := s.do(t, "POST", "/api/v1/sessions/"+id+"/execute", `{"command": "echo a block echo b", "async": true}`)
	if a.status != http.StatusAccepted {
		t.Fatalf("answer %d %s", a.status, a.body)
	}
	var record struct {
		yurt.Execution
		ExecutionID string `json:"execution_id"`
	}
	a.decode(t, &record)
	if record.ID == "" || record.ID != record.ExecutionID || record.State != yurt.ExecutionRunning {
		t.Errorf("record %s", a.body)
	}
	path := "/api/v1/sessions/" + id
	a = s.do(t, "GET", path+"/status", "")
	if a.decode(t, &record); a.status != http.StatusOK || record.State != yurt.ExecutionRunning {
		t.Errorf("status %d %s", a.status, a.body)
	}
	wantProblem(t, s.do(t, "GET", path+"/result", ""), yurt.CodeExecutionRunning, "")
	s.node.Release()
	s.eventually(t, func() bool { return s.do(t, "GET", path+"/result?execution_id="+record.ID, "").status == http.StatusOK })
	var result yurt.Result
	s.do(t, "GET", path+"/result", "").decode(t, &result)
	if result.Stdout != "a\nb\n" {
		t.Errorf("stdout %q", result.Stdout)
	}
	a = s.do(t, "GET", path+"/executions/"+record.ID, "")
	if a.decode(t, &record); record.State != yurt.ExecutionSucceeded || record.Result == nil {
		t.Errorf("execution %s", a.body)
	}
}

func (s *server) eventually(t testing.TB, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it does not happen")
}
