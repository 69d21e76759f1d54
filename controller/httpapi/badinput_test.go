package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestBadInput sends everything that a client can get wrong. Values that hold the
// word "s3cret" must neither come back nor be logged; paths are logged.
func TestBadInput(t *testing.T) {
	s := newServer(t)
	live, polyglot := "/api/v1/sessions/"+s.session(t, "python-basic"), "/api/v1/sessions/"+s.session(t, "polyglot")
	ended := "/api/v1/sessions/" + s.session(t, "python-basic")
	if a := s.do(t, "DELETE", ended, ""); a.status != http.StatusOK {
		t.Fatalf("ending a session: %d %s", a.status, a.body)
	}
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name, method, path, body string
		code                     yurt.Code
		field                    string
		headers                  []string
	}{
		// The shape of requests.
		{name: "unknown route", method: "GET", path: "/api/v1/nothing", code: yurt.CodeNotFound},
		{name: "wrong verb on the root", method: "POST", path: "/", code: yurt.CodeMethodNotAllowed},
		{name: "wrong verb", method: "PATCH", path: "/api/v1/sessions", code: yurt.CodeMethodNotAllowed},
		{name: "wrong verb on a file", method: "POST", path: live + "/files/a", code: yurt.CodeMethodNotAllowed},
		{name: "no body", method: "POST", path: "/api/v1/sessions", code: yurt.CodeMalformedBody},
		{name: "blank body", method: "POST", path: "/api/v1/sessions", body: "  \n", code: yurt.CodeMalformedBody},
		{name: "not JSON", method: "POST", path: "/api/v1/sessions", body: `{"env": s3cret}`, code: yurt.CodeMalformedBody},
		{name: "cut off", method: "POST", path: "/api/v1/sessions", body: `{"env": {"A": "s3cret"`, code: yurt.CodeMalformedBody},
		{name: "two objects", method: "POST", path: "/api/v1/sessions", body: `{} {"a": "s3cret"}`, code: yurt.CodeMalformedBody},
		{name: "an array", method: "POST", path: "/api/v1/sessions", body: `["s3cret"]`, code: yurt.CodeMalformedBody},
		{name: "null", method: "POST", path: "/api/v1/sessions", body: `null`, code: yurt.CodeMalformedBody},
		{name: "not UTF-8", method: "POST", path: "/api/v1/sessions", body: "{\"mode\": \"\xff\"}", code: yurt.CodeMalformedBody},
		{name: "another content type", method: "POST", path: "/api/v1/sessions", body: `{}`, headers: []string{"Content-Type", "text/plain"}, code: yurt.CodeMalformedBody, field: "Content-Type"},
		{name: "a form", method: "POST", path: live + "/execute", body: `a=s3cret`, headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, code: yurt.CodeMalformedBody, field: "Content-Type"},
		{name: "unknown field", method: "POST", path: "/api/v1/sessions", body: `{"template": "s3cret"}`, code: yurt.CodeUnknownField, field: "template"},
		{name: "unknown nested field", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"memry": "s3cret"}}`, code: yurt.CodeUnknownField, field: "resources.memry"},
		{name: "field in another case", method: "POST", path: "/api/v1/sessions", body: `{"Template_ID": "s3cret"}`, code: yurt.CodeUnknownField, field: "Template_ID"},
		{name: "field twice", method: "POST", path: "/api/v1/sessions", body: `{"mode": "s3cret", "mode": "s3cret"}`, code: yurt.CodeMalformedBody, field: "mode"},
		{name: "wrong type", method: "POST", path: "/api/v1/sessions", body: `{"template_id": {"a": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "template_id"},
		{name: "wrong nested type", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": "s3cret"}`, code: yurt.CodeInvalidArgument, field: "resources"},
		{name: "wrong value in a map", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "env": {"A": ["s3cret"]}}`, code: yurt.CodeInvalidArgument, field: "env"},
		{name: "unknown query parameter", method: "GET", path: "/api/v1/sessions?colour=s3cret", code: yurt.CodeUnknownField, field: "colour"},

		// POST /sessions.
		{name: "unknown template", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "none"}`, code: yurt.CodeTemplateNotFound, field: "template_id"},
		{name: "control characters in a name", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "s3cret\u001b[2J"}`, code: yurt.CodeInvalidArgument, field: "template_id"},
		{name: "unknown mode", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "mode": "s3cret"}`, code: yurt.CodeInvalidArgument, field: "mode"},
		{name: "control characters in the agent", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "agent_id": "s3cret\n"}`, code: yurt.CodeInvalidArgument, field: "agent_id"},
		{name: "zero lifetime", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "timeout": 0}`, code: yurt.CodeLimitOutOfRange, field: "timeout"},
		{name: "negative lifetime", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "timeout": -1}`, code: yurt.CodeLimitOutOfRange, field: "timeout"},
		{name: "absurd lifetime", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "timeout": 1e300}`, code: yurt.CodeLimitOutOfRange, field: "timeout"},
		{name: "absurd idle timeout", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "idle_timeout": "9999h"}`, code: yurt.CodeLimitOutOfRange, field: "idle_timeout"},
		{name: "lifetime that is no duration", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "timeout": "s3cret"}`, code: yurt.CodeInvalidArgument, field: "timeout"},
		{name: "lifetime of another type", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "timeout": true}`, code: yurt.CodeInvalidArgument, field: "timeout"},
		{name: "negative memory", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"memory": -1}}`, code: yurt.CodeLimitOutOfRange, field: "resources.memory"},
		{name: "zero memory", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"memory": 0}}`, code: yurt.CodeLimitOutOfRange, field: "resources.memory"},
		{name: "absurd memory", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"memory": "9999Ti"}}`, code: yurt.CodeLimitOutOfRange, field: "resources.memory"},
		{name: "memory that is no size", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"memory": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "resources.memory"},
		{name: "absurd CPU", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"cpu": 1e9}}`, code: yurt.CodeLimitOutOfRange, field: "resources.cpu"},
		{name: "CPU beyond numbers", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"cpu": 1e999}}`, code: yurt.CodeLimitOutOfRange, field: "resources.cpu"},
		{name: "zero disk", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"disk": "0"}}`, code: yurt.CodeLimitOutOfRange, field: "resources.disk"},
		{name: "absurd PIDs", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"pids": 1000000}}`, code: yurt.CodeLimitOutOfRange, field: "resources.pids"},
		{name: "a fraction of a PID", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"pids": 1.5}}`, code: yurt.CodeInvalidArgument, field: "resources.pids"},
		{name: "CPU that is no number", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"cpu": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "resources.cpu"},
		{name: "CPU as text out of range", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"cpu": "1m"}}`, code: yurt.CodeLimitOutOfRange, field: "resources.cpu"},
		{name: "PIDs that are no number", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "resources": {"pids": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "resources.pids"},
		{name: "env without a name", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "env": {"": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "env"},
		{name: "env with =", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "env": {"A=s3cret": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "env"},
		{name: "env with NUL", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "env": {"A": "s3cret\u0000"}}`, code: yurt.CodeInvalidArgument, field: "env.A"},
		{name: "metadata with control characters", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "metadata": {"a": "s3cret\u0007"}}`, code: yurt.CodeInvalidArgument, field: "metadata.a"},
		{name: "metadata too long", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "metadata": {"a": "` + long + `"}}`, code: yurt.CodeInvalidArgument, field: "metadata.a"},
		{name: "network", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "network": {"mode": "host"}}`, code: yurt.CodeNotSupported, field: "network.mode"},
		{name: "reuse for nobody", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "reuse": true}`, code: yurt.CodeInvalidArgument, field: "reuse"},
		{name: "reuse of what is used once", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "agent_id": "a", "mode": "ephemeral", "reuse": true}`, code: yurt.CodeInvalidArgument, field: "reuse"},
		{name: "files that are a list", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": ["s3cret"]}`, code: yurt.CodeInvalidArgument, field: "files"},
		{name: "a file that is a number", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": {"a": 1}}`, code: yurt.CodeInvalidArgument, field: "files"},
		{name: "a file that is not base64", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": {"a": {"base64": "s3cret!"}}}`, code: yurt.CodeInvalidArgument, field: "files"},
		{name: "a file outside", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": {"../a": "s3cret"}}`, code: yurt.CodePathOutsideWorkspace, field: "files"},
		{name: "an absolute file", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": {"/etc/a": "s3cret"}}`, code: yurt.CodePathOutsideWorkspace, field: "files"},
		{name: "a file in a file", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": {"a": "s3cret", "a/b": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "files"},
		{name: "a file too deep", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "files": {"` + strings.Repeat("d/", 200) + `a": "s3cret"}}`, code: yurt.CodeInvalidPath, field: "files"},
		{name: "files for a session that may be reused", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "agent_id": "a", "reuse": true, "files": {"a": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "files"},
		{name: "snapshot", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic", "snapshot_id": "s3cret"}`, code: yurt.CodeNotSupported, field: "snapshot_id"},
		{name: "idempotency key too long", method: "POST", path: "/api/v1/sessions", body: `{"template_id": "shell-basic"}`, headers: []string{"Idempotency-Key", long}, code: yurt.CodeInvalidArgument, field: "Idempotency-Key"},

		// GET /sessions.
		{name: "no number", method: "GET", path: "/api/v1/sessions?limit=s3cret", code: yurt.CodeInvalidArgument, field: "limit"},
		{name: "limit too small", method: "GET", path: "/api/v1/sessions?limit=0", code: yurt.CodeLimitOutOfRange, field: "limit"},
		{name: "limit too large", method: "GET", path: "/api/v1/sessions?limit=501", code: yurt.CodeLimitOutOfRange, field: "limit"},
		{name: "no cursor", method: "GET", path: "/api/v1/sessions?cursor=s3cret", code: yurt.CodeInvalidArgument, field: "cursor"},
		{name: "unknown state", method: "GET", path: "/api/v1/sessions?state=s3cret", code: yurt.CodeInvalidArgument, field: "state"},

		// One session.
		{name: "no such session", method: "GET", path: "/api/v1/sessions/ses_aaaaaaaaaaaaaaaaaaaaaaaaaa", code: yurt.CodeSessionNotFound},
		{name: "no id of a session", method: "GET", path: "/api/v1/sessions/p4th%0a", code: yurt.CodeSessionNotFound},
		{name: "ending no session", method: "DELETE", path: "/api/v1/sessions/ses_aaaaaaaaaaaaaaaaaaaaaaaaaa", code: yurt.CodeSessionNotFound},
		{name: "ending twice", method: "DELETE", path: ended, code: yurt.CodeSessionEnded},
		{name: "executing in an ended session", method: "POST", path: ended + "/execute", body: `{"command": "true"}`, code: yurt.CodeSessionEnded},
		{name: "writing into an ended session", method: "PUT", path: ended + "/files/a", body: `a`, code: yurt.CodeSessionEnded},

		// POST execute.
		{name: "nothing to run", method: "POST", path: live + "/execute", body: `{}`, code: yurt.CodeInvalidArgument, field: "code"},
		{name: "code and command", method: "POST", path: live + "/execute", body: `{"code": "s3cret", "command": "s3cret"}`, code: yurt.CodeInvalidArgument, field: "code"},
		{name: "handler with command and code", method: "POST", path: live + "/execute", body: `{"handler": "s3cret", "code":"x","command": "s3cret"}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "handler without code", method: "POST", path: live + "/execute", body: `{"handler": "s3cret"}`, code: yurt.CodeInvalidArgument, field: "code"},
		{name: "unknown language", method: "POST", path: live + "/execute", body: `{"code": "x", "language": "cobol"}`, code: yurt.CodeLanguageNotSupported, field: "language"},
		{name: "language of another template", method: "POST", path: live + "/execute", body: `{"code": "x", "language": "js"}`, code: yurt.CodeLanguageNotSupported, field: "language"},
		{name: "unknown language where there are two", method: "POST", path: polyglot + "/execute", body: `{"code": "x", "language": "cobol"}`, code: yurt.CodeLanguageNotSupported, field: "language"},
		{name: "control characters in the language", method: "POST", path: live + "/execute", body: `{"code": "x", "language": "s3cret\n"}`, code: yurt.CodeInvalidArgument, field: "language"},
		{name: "empty line", method: "POST", path: live + "/execute", body: `{"command": " "}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "empty argv", method: "POST", path: live + "/execute", body: `{"command": []}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "no program", method: "POST", path: live + "/execute", body: `{"command": ["", "s3cret"]}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "argv of numbers", method: "POST", path: live + "/execute", body: `{"command": [1]}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "null in argv", method: "POST", path: live + "/execute", body: `{"command": ["a", null]}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "argv of 4 MB", method: "POST", path: live + "/execute", body: `{"command": ["a"` + strings.Repeat(`, "`+strings.Repeat("x", 100_000)+`"`, 40) + `]}`, code: yurt.CodeLimitOutOfRange, field: "command"},
		{name: "argument of 4 MB", method: "POST", path: live + "/execute", body: `{"command": ["a", "` + strings.Repeat("x", 4<<20) + `"]}`, code: yurt.CodeLimitOutOfRange, field: "command"},
		{name: "arguments of code of 4 MB", method: "POST", path: live + "/execute", body: `{"code": "x", "args": ["a"` + strings.Repeat(`, "`+strings.Repeat("x", 100_000)+`"`, 40) + `]}`, code: yurt.CodeLimitOutOfRange, field: "args"},
		{name: "NUL in argv", method: "POST", path: live + "/execute", body: `{"command": ["a", "s3cret\u0000"]}`, code: yurt.CodeInvalidArgument, field: "command"},
		{name: "context that is no object", method: "POST", path: live + "/execute", body: `{"code": "x", "context": ["s3cret"]}`, code: yurt.CodeInvalidArgument, field: "context"},
		{name: "zero timeout", method: "POST", path: live + "/execute", body: `{"command": "true", "timeout": 0}`, code: yurt.CodeLimitOutOfRange, field: "timeout"},
		{name: "timeout too long", method: "POST", path: live + "/execute", body: `{"command": "true", "timeout": 3601}`, code: yurt.CodeLimitOutOfRange, field: "timeout"},
		{name: "timeout in the event too long", method: "POST", path: live + "/execute", body: `{"code": "x", "event": {"__timeout": 3601}}`, code: yurt.CodeLimitOutOfRange, field: "event.__timeout"},
		{name: "timeout in the event that is none", method: "POST", path: live + "/execute", body: `{"code": "x", "event": {"__timeout": "s3cret"}}`, code: yurt.CodeInvalidArgument, field: "event.__timeout"},
		{name: "output limit too large", method: "POST", path: live + "/execute", body: `{"command": "true", "output_limit": "65Mi"}`, code: yurt.CodeLimitOutOfRange, field: "output_limit"},
		{name: "cwd with control characters", method: "POST", path: live + "/execute", body: `{"command": "true", "cwd": "s3cret\n"}`, code: yurt.CodeInvalidPath, field: "cwd"},
		{name: "async and stream", method: "POST", path: live + "/execute", body: `{"command": "true", "async": true, "stream": true}`, code: yurt.CodeInvalidArgument, field: "stream"},

		// Executions.
		{name: "no such execution", method: "GET", path: live + "/result?execution_id=exe_aaaaaaaaaaaaaaaaaaaaaaaaaa", code: yurt.CodeExecutionNotFound},
		{name: "no id of an execution", method: "GET", path: live + "/executions/p4th", code: yurt.CodeExecutionNotFound},
		{name: "no number of an event", method: "GET", path: live + "/executions/exe_a/events", headers: []string{"Last-Event-ID", "s3cret"}, code: yurt.CodeInvalidArgument, field: "Last-Event-ID"},
		{name: "events of no execution", method: "GET", path: live + "/executions/exe_a/events", code: yurt.CodeExecutionNotFound},

		// Files.
		{name: "no file", method: "GET", path: live + "/files/none", code: yurt.CodeFileNotFound, field: "path"},
		{name: "the workspace itself", method: "GET", path: live + "/files/.", code: yurt.CodeNotAFile, field: "path"},
		{name: "empty path", method: "PUT", path: live + "/files/", body: "x", code: yurt.CodeInvalidPath, field: "path"},
		{name: "out of the workspace", method: "PUT", path: live + "/files/../../etc/passwd", body: "x", code: yurt.CodePathOutsideWorkspace, field: "path"},
		{name: "out of the workspace, escaped", method: "GET", path: live + "/files/%2e%2e/%2e%2e/etc/shadow", code: yurt.CodePathOutsideWorkspace, field: "path"},
		{name: "out of the workspace, all escaped", method: "GET", path: live + "/files/a%2f..%2f..%2fetc%2fshadow", code: yurt.CodePathOutsideWorkspace, field: "path"},
		{name: "an absolute path", method: "GET", path: live + "/files//etc/shadow", code: yurt.CodePathOutsideWorkspace, field: "path"},
		{name: "only dots", method: "GET", path: live + "/files/..", code: yurt.CodePathOutsideWorkspace, field: "path"},
		{name: "control characters in a path", method: "PUT", path: live + "/files/p4th%0a", body: "x", code: yurt.CodeInvalidPath, field: "path"},
		{name: "NUL in a path", method: "PUT", path: live + "/files/p4th%00", body: "x", code: yurt.CodeInvalidPath, field: "path"},
		{name: "a path that is not UTF-8", method: "PUT", path: live + "/files/%ff", body: "x", code: yurt.CodeInvalidPath, field: "path"},
		{name: "a path too long", method: "PUT", path: live + "/files/" + long, body: "x", code: yurt.CodeInvalidPath, field: "path"},

		// Templates.
		{name: "no such template", method: "GET", path: "/api/v1/templates/none", code: yurt.CodeTemplateNotFound},
		{name: "template that exists", method: "POST", path: "/api/v1/templates", body: `{"name": "shell-basic"}`, code: yurt.CodeTemplateExists, field: "name"},
		{name: "template with a bad name", method: "POST", path: "/api/v1/templates", body: `{"name": "../s3cret"}`, code: yurt.CodeInvalidArgument, field: "name"},
		{name: "template that is none", method: "POST", path: "/api/v1/templates", body: `["s3cret"]`, code: yurt.CodeTemplateInvalid},
		{name: "two templates", method: "POST", path: "/api/v1/templates", body: `a b`, headers: []string{"Content-Type", "application/hcl"}, code: yurt.CodeTemplateInvalid},
		{name: "template of another type", method: "POST", path: "/api/v1/templates", body: `a`, headers: []string{"Content-Type", "image/png"}, code: yurt.CodeMalformedBody, field: "Content-Type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := s.do(t, test.method, test.path, test.body, test.headers...)
			wantProblem(t, a, test.code, test.field)
			if strings.Contains(a.body, "s3cret") || strings.Contains(a.body, "p4th") {
				t.Errorf("the answer shows a refused value: %s", a.body)
			}
		})
	}
	if strings.Contains(s.logs.String(), "s3cret") {
		t.Error("the log shows a refused value")
	}
	if got := s.do(t, "PATCH", "/api/v1/sessions", "").header.Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow is %q", got)
	}
	if a := s.do(t, "POST", "/api/v1/sessions", `{"templte_id": "x"}`); !strings.Contains(a.body, `did you mean \"template_id\"?`) {
		t.Errorf("no suggestion in %s", a.body)
	}
	if a := s.do(t, "PUT", live+"/files/p4th%0a", "x"); !strings.Contains(a.body, "not of the form that is allowed; give a path without control characters, such as line breaks") {
		t.Errorf("a path with a line break is answered %s, expected the rule in it", a.body)
	}
}

func TestTooLarge(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	tests := []struct {
		name, body string
		code       yurt.Code
		field      string
	}{
		{"body", `{"stdin": "` + strings.Repeat("x", 65<<20) + `"}`, yurt.CodeBodyTooLarge, ""},
		{"code", `{"code": "` + strings.Repeat("x", yurt.MaxCodeBytes+1) + `"}`, yurt.CodeLimitOutOfRange, "code"},
		{"stdin", `{"command": "true", "stdin": "` + strings.Repeat("x", yurt.MaxStdinBytes+1) + `"}`, yurt.CodeLimitOutOfRange, "stdin"},
		{"event", `{"code": "x", "event": "` + strings.Repeat("x", yurt.MaxEventBytes+1) + `"}`, yurt.CodeLimitOutOfRange, "event"},
		{"env", `{"command": "true", "env": {"A": "` + strings.Repeat("x", yurt.MaxEnvBytes) + `"}}`, yurt.CodeLimitOutOfRange, "env"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantProblem(t, s.do(t, "POST", path+"/execute", test.body), test.code, test.field)
		})
	}
}
