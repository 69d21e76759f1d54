package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/test/contract"
)

func TestSessionLife(t *testing.T) {
	s := newServer(t)
	a := s.do(t, "POST", "/api/v1/sessions", `{"template_id": "python-basic", "mode": "persistent", "agent_id": "me", "timeout": "2h", "idle_timeout": 90,
		"env": {"TOKEN": "s3cret"}, "resources": {"cpu": 0.5, "memory": "64Mi", "disk": 1048576}, "network": {"mode": "none"}, "metadata": {"k": "v"}, "files": {"in/a": "s3cret", "b": {"base64": "/w=="}}}`)
	var got map[string]rawJSON
	if a.decode(t, &got); a.status != http.StatusCreated {
		t.Fatalf("answer %d %s", a.status, a.body)
	}
	for field, want := range map[string]string{
		"template_id": `"python-basic"`, "mode": `"persistent"`, "state": `"ready"`, "agent_id": `"me"`, "timeout": "7200", "idle_timeout": "90",
		"resources": `{"cpu":0.5,"memory":67108864,"disk":1048576,"pids":256}`, "metadata": `{"k":"v"}`,
		"placement": `{"kind":"cold","node":"fake","phases_ms":{"create":1}}`,
	} {
		if string(got[field]) != want {
			t.Errorf("%s is %s, want %s", field, got[field], want)
		}
	}
	location := a.header.Get("Location")
	if a = s.do(t, "POST", location+"/execute", `{"command": "env TOKEN env FROM"}`); !strings.Contains(a.body, `"stdout":"s3cret\ntemplate\n"`) {
		t.Errorf("the environment is not there: %s", a.body)
	}
	for name, want := range map[string]string{"in/a": "s3cret", "b": "\xff"} {
		if a = s.do(t, "GET", location+"/files/"+name, ""); a.body != want {
			t.Errorf("the file %s that it began with is %q", name, a.body)
		}
	}
	if a = s.do(t, "GET", location, ""); strings.Contains(a.body, "s3cret") || strings.Contains(s.logs.String(), "s3cret") {
		t.Error("the environment or a file of a session was shown")
	}
	a = s.do(t, "DELETE", location, "")
	if a.decode(t, &got); a.status != http.StatusOK || string(got["state"]) != `"terminated"` || got["ended_at"] == nil {
		t.Errorf("answer to the end: %d %s", a.status, a.body)
	}
	s.eventually(t, func() bool { return s.node.Count() == 0 })
}

func TestIdempotentCreate(t *testing.T) {
	s := newServer(t)
	create := func(template string) answer {
		return s.do(t, "POST", "/api/v1/sessions", `{"template_id": "`+template+`"}`, "Idempotency-Key", "key")
	}
	first, second := create("python-basic"), create("python-basic")
	if second.status != http.StatusCreated || first.header.Get("Location") != second.header.Get("Location") || s.node.Count() != 1 {
		t.Errorf("the same request made another session: %s, %s", first.body, second.body)
	}
	wantProblem(t, create("shell-basic"), yurt.CodeIdempotencyConflict, "Idempotency-Key")
}

// TestRefusedCreateFreesItsKey: a client may send a create again, with the same key, that found the node full.
func TestRefusedCreateFreesItsKey(t *testing.T) {
	s := newServer(t)
	create := func() answer {
		return s.do(t, "POST", "/api/v1/sessions", `{"template_id": "shell-basic"}`, "Idempotency-Key", "key")
	}
	s.node.Fail("CreateSandbox", yurt.Errorf(yurt.CodeOverloaded, "this node is full"))
	wantProblem(t, create(), yurt.CodeOverloaded, "")
	a := create()
	if !strings.Contains(a.body, `"state":"ready"`) || a.status != http.StatusCreated {
		t.Errorf("the second try is answered by %d %s", a.status, a.body)
	}
	if again := create(); again.header.Get("Location") != a.header.Get("Location") {
		t.Errorf("a third request made another session: %s", again.body)
	}
}

func TestReuse(t *testing.T) {
	s := newServer(t)
	create := func() answer {
		return s.do(t, "POST", "/api/v1/sessions", `{"template_id": "python-basic", "agent_id": "me", "reuse": true}`)
	}
	first, second := create(), create()
	if first.status != http.StatusCreated || second.status != http.StatusOK || first.header.Get("Location") != second.header.Get("Location") {
		t.Errorf("answers %d %s and %d %s", first.status, first.body, second.status, second.body)
	}
	if !strings.Contains(second.body, `"placement":{"kind":"reused","node":"fake","phases_ms":{"find":`) {
		t.Errorf("it is not said that the session was reused: %s", second.body)
	}
}

func TestListSessions(t *testing.T) {
	s := newServer(t)
	var ids []string
	for n := range 7 {
		a := s.do(t, "POST", "/api/v1/sessions", fmt.Sprintf(`{"template_id": "shell-basic", "agent_id": "a%d", "metadata": {"n": "%d"}}`, n%2, n))
		var session yurt.Session
		a.decode(t, &session)
		ids = append([]string{session.ID}, ids...)
	}
	list := func(query string) (got []string, next string) {
		var page struct {
			Sessions   []yurt.Session `json:"sessions"`
			NextCursor string         `json:"next_cursor"`
		}
		a := s.do(t, "GET", "/api/v1/sessions?"+query, "")
		a.decode(t, &page)
		if page.Sessions == nil {
			t.Errorf("%s: no list in %s", query, a.body)
		}
		for _, session := range page.Sessions {
			got = append(got, session.ID)
		}
		return got, page.NextCursor
	}
	var paged []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		var page []string
		page, cursor = list("limit=3&cursor=" + cursor)
		if paged = append(paged, page...); pages > 3 {
			t.Fatal("the pages do not end")
		}
	}
	if !slices.Equal(paged, ids) {
		t.Errorf("pages hold %v, want %v", paged, ids)
	}
	if got, _ := list("agent_id=a1&limit=2"); !slices.Equal(got, []string{ids[1], ids[3]}) {
		t.Errorf("of agent a1: %v", got)
	}
	if got, _ := list("metadata[n]=3&state=ready&template_id=shell-basic"); !slices.Equal(got, []string{ids[3]}) {
		t.Errorf("by metadata: %v", got)
	}
	if got, _ := list("id_prefix=" + ids[2][:12]); !slices.Equal(got, ids[2:3]) {
		t.Errorf("by the beginning of an id: %v", got)
	}
	wantProblem(t, s.do(t, "GET", "/api/v1/sessions?id_prefix=SES_", ""), yurt.CodeInvalidArgument, "id_prefix")
	if got, _ := list("state=failed"); len(got) != 0 {
		t.Errorf("failed sessions: %v", got)
	}
}

func TestListExecutions(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "shell-basic")
	for range 3 {
		s.do(t, "POST", path+"/execute", `{"command": "echo out"}`)
	}
	a := s.do(t, "GET", path+"/executions?limit=2", "")
	var page struct {
		Executions []yurt.Execution `json:"executions"`
		NextCursor string           `json:"next_cursor"`
	}
	if a.decode(t, &page); len(page.Executions) != 2 || page.NextCursor == "" || strings.Contains(a.body, "out") {
		t.Errorf("first page %s", a.body)
	}
	a = s.do(t, "GET", path+"/executions?limit=2&cursor="+page.NextCursor, "")
	if a.decode(t, &page); len(page.Executions) != 1 || page.NextCursor != "" {
		t.Errorf("second page %s", a.body)
	}
}

func TestFiles(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "shell-basic") + "/files/"
	content := strings.Repeat("\x00\xff binary ", 100_000)
	a := s.do(t, "PUT", path+"a%20b/%C3%BC.bin", content, "Content-Type", "application/octet-stream")
	var info yurt.FileInfo
	if a.decode(t, &info); a.status != http.StatusCreated || info.Path != "a b/ü.bin" || info.Size != int64(len(content)) {
		t.Errorf("answer %d %s", a.status, a.body)
	}
	for _, name := range []string{"a%20b/%C3%BC.bin", "a%20b%2F%C3%BC.bin", "x/../a%20b//%C3%BC.bin", "/workspace/a%20b/%C3%BC.bin"} {
		a = s.do(t, "GET", path+name, "")
		if a.status != http.StatusOK || a.body != content {
			t.Errorf("%s: answer %d with %d bytes", name, a.status, len(a.body))
		}
	}
	for header, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff",
		"Content-Length": fmt.Sprint(len(content)),
	} {
		if got := a.header.Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	if a = s.do(t, "HEAD", path+"a%20b/%C3%BC.bin", ""); a.status != http.StatusOK || a.body != "" || a.header.Get("Content-Length") != fmt.Sprint(len(content)) {
		t.Errorf("HEAD gives %d, length %s", a.status, a.header.Get("Content-Length"))
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestFileTooLarge(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "shell-basic") + "/files/a"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+path, endless{})
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = yurt.MaxFileBytes + 1
	req.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute} // the answer comes before the body
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || p.Code != yurt.CodeFileTooLarge || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answer %s %+v, error %v", resp.Status, p, err)
	}
}

func TestTemplates(t *testing.T) {
	s := newServer(t)
	var list struct{ Templates []yurt.Template }
	s.do(t, "GET", "/api/v1/templates", "").decode(t, &list)
	if len(list.Templates) != 4 || list.Templates[0].Name != "default" {
		t.Errorf("templates %+v", list)
	}
	for _, test := range []struct{ name, body, contentType string }{
		{"from-json", `{"name": "from-json", "runtimes": ["python"]}`, "application/json"},
		{"from-hcl", `from-hcl`, "application/hcl"},
		{"from-text", `from-text`, "text/plain; charset=utf-8"},
	} {
		a := s.do(t, "POST", "/api/v1/templates", test.body, "Content-Type", test.contentType)
		if a.status != http.StatusCreated || a.header.Get("Location") != "/api/v1/templates/"+test.name {
			t.Fatalf("%s: answer %d %s", test.name, a.status, a.body)
		}
		var template yurt.Template
		s.do(t, "GET", a.header.Get("Location"), "").decode(t, &template)
		if template.Name != test.name {
			t.Errorf("template %+v", template)
		}
		s.session(t, test.name)
	}
	without := newServer(t, func(c *httpapi.Config) { c.ParseTemplateHCL, c.ParseTemplateJSON = nil, nil })
	wantProblem(t, without.do(t, "POST", "/api/v1/templates", `{}`), yurt.CodeNotSupported, "Content-Type")
	wantProblem(t, without.do(t, "POST", "/api/v1/templates", `x`, "Content-Type", "application/hcl"), yurt.CodeNotSupported, "Content-Type")
}

// TestTemplatesGo replaces and deletes templates, and makes several at once, by the client.
func TestTemplatesGo(t *testing.T) {
	s := newServer(t)
	c, ctx := contract.Client(t, s.URL), t.Context()
	base, told := yurt.Template{Name: "base", Runtimes: []string{"python"}}, func(string) error { return nil }
	extending := yurt.Template{Name: "more", Runtimes: []string{"python"}, Extends: "base"}
	if err := c.PushTemplates(ctx, []yurt.Template{base, extending}, false, told); err != nil {
		t.Fatal(err)
	}
	wantClientError(t, c.PushTemplates(ctx, []yurt.Template{{Name: "third"}, base}, false, told), yurt.CodeTemplateExists, "name")
	if _, err := c.Template(ctx, "third"); yurt.CodeOf(err) != yurt.CodeTemplateNotFound {
		t.Errorf("a template of a push that failed is there: %v", err)
	}
	if err := c.PushTemplates(ctx, []yurt.Template{base}, true, told); err != nil {
		t.Error("replacing by a push:", err)
	}
	wantClientError(t, c.DeleteTemplate(ctx, "base"), yurt.CodeTemplateInUse, "")
	for _, name := range []string{"more", "base"} {
		if err := c.DeleteTemplate(ctx, name); err != nil {
			t.Error(err)
		}
	}
	wantClientError(t, c.DeleteTemplate(ctx, "base"), yurt.CodeTemplateNotFound, "")
	wantClientError(t, c.DeleteTemplate(ctx, "python-basic"), yurt.CodeForbidden, "")
	for range 2 { // made, and replaced
		if made, err := c.ReplaceTemplate(ctx, "put", []byte("put")); err != nil || made.Name != "put" {
			t.Errorf("template %+v, error %v", made, err)
		}
	}
	_, err := c.ReplaceTemplate(ctx, "put", []byte("other"))
	wantClientError(t, err, yurt.CodeInvalidArgument, "name")
	batch := "/api/v1/templates/batch"
	wantProblem(t, s.do(t, "POST", batch, `{"templates": []}`), yurt.CodeInvalidArgument, "templates")
	wantProblem(t, s.do(t, "POST", batch, `{"templates": [{"name": "a"}], "extends": {"b": "a"}}`), yurt.CodeInvalidArgument, "extends")
}

func TestServerPages(t *testing.T) {
	s := newServer(t)
	s.do(t, "POST", "/api/v1/sessions/"+s.session(t, "python-basic")+"/execute", `{"command": "raise"}`)
	s.do(t, "GET", "/nowhere/of/any/kind", "")
	tests := []struct{ path, contentType, part string }{
		{"/health", "application/json", `{"status":"ok"}`},
		{"/ready", "application/json", `{"status":"ready"}`},
		{"/version", "application/json", `"version":"1.2.3","commit":"abc","go":"go1`},
		{"/api/v1/runtimes", "application/json", `"languages":["python","py"]`},
		{"/openapi.json", "application/openapi+json", `"openapi":"3.1.0"`},
		{"/docs", "text/html; charset=utf-8", `src="/docs/scalar.js"`},
		{"/docs/page.js", "text/javascript; charset=utf-8", `telemetry: false`},
		{"/docs/scalar.js", "text/javascript; charset=utf-8", `createApiReference`},
		{"/metrics", "", `yurt_executions_total{kind="command",outcome="failed"} 1`},
		{"/metrics", "", `yurt_sessions{state="ready"} 1`},
		{"/metrics", "", `yurt_http_requests_total{method="POST",route="/api/v1/sessions/{id}/execute",status="200"} 1`},
		{"/metrics", "", `route="unknown",status="404"`},
	}
	for _, test := range tests {
		a := s.do(t, "GET", test.path, "")
		if a.status != http.StatusOK || !strings.Contains(a.body, test.part) || (test.contentType != "" && a.header.Get("Content-Type") != test.contentType) {
			t.Errorf("%s: %d %s, without %s", test.path, a.status, a.header.Get("Content-Type"), test.part)
		}
	}
	if a := s.do(t, "GET", "/metrics", ""); strings.Contains(a.body, "nowhere") {
		t.Error("a client can make up labels")
	}
	tag := s.do(t, "GET", "/docs/scalar.js", "").header.Get("ETag")
	if a := s.do(t, "GET", "/docs/scalar.js", "", "If-None-Match", tag); a.status != http.StatusNotModified {
		t.Errorf("a page that is known is sent again: %d", a.status)
	}
}

func TestRequestID(t *testing.T) {
	logs := &nodetest.Logs{}
	s := newServer(t, func(c *httpapi.Config) {
		c.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	if got := s.do(t, "GET", "/health", "", "X-Request-Id", "abc-1.2_3").header.Get("X-Request-Id"); got != "abc-1.2_3" {
		t.Errorf("the client's id became %q", got)
	}
	for _, bad := range []string{"a b", "a\"b", strings.Repeat("x", 200), ""} {
		if got := s.do(t, "GET", "/health", "", "X-Request-Id", bad).header.Get("X-Request-Id"); got == bad || !strings.HasPrefix(got, "req_") {
			t.Errorf("id %q became %q", bad, got)
		}
	}
	if !strings.Contains(logs.String(), "level=DEBUG msg=request request_id=abc-1.2_3 method=GET path=/health status=200") {
		t.Errorf("the request is not in the log:\n%s", logs)
	}
}

func TestLoopbackOnly(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.LoopbackOnly = true })
	for _, host := range []string{"localhost", "localhost:8700", "LOCALHOST", "127.0.0.1:8700", "127.1.2.3", "[::1]:8700", "[::1]"} {
		if a := s.do(t, "GET", "/health", "", "Host", host); a.status != http.StatusOK {
			t.Errorf("host %s is refused: %s", host, a.body)
		}
	}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8700", "10.0.0.1", "[::2]", "0.0.0.0"} {
		wantProblem(t, s.do(t, "GET", "/health", "", "Host", host), yurt.CodeForbidden, "Host")
	}
	body := `{"template_id": "shell-basic"}`
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		wantProblem(t, s.do(t, "POST", "/api/v1/sessions", body, headers...), yurt.CodeForbidden, "Origin")
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Origin", s.URL}} {
		if a := s.do(t, "POST", "/api/v1/sessions", body, headers...); a.status != http.StatusCreated {
			t.Errorf("headers %v are refused: %s", headers, a.body)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	s := newServer(t)
	var spec struct {
		Paths map[string]map[string]struct {
			OperationID string                     `json:"operationId"`
			Summary     string                     `json:"summary"`
			RequestBody json.RawMessage            `json:"requestBody"`
			Responses   map[string]json.RawMessage `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	a := s.do(t, "GET", "/openapi.json", "")
	a.decode(t, &spec)
	operations := 0
	for path, verbs := range spec.Paths {
		for verb, op := range verbs {
			operations++
			if op.OperationID == "" || op.Summary == "" || op.Responses["default"] == nil || len(op.Responses) < 2 {
				t.Errorf("%s %s is not documented: %+v", verb, path, op)
			}
			bodiless := slices.Contains([]string{"pause", "prepare", "restart", "resume"}, path[strings.LastIndex(path, "/")+1:])
			if (verb == "post" || verb == "put") && !bodiless && !bytes.Contains(op.RequestBody, []byte("schema")) {
				t.Errorf("%s %s has no body: %s", verb, path, op.RequestBody)
			}
		}
	}
	if operations < 27 {
		t.Errorf("%d operations are documented", operations)
	}
	for _, name := range []string{"Session", "Template", "Problem", "CreateSessionBody", "ExecuteBody", "ResultBody", "EventBody"} {
		if spec.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s among %d", name, len(spec.Components.Schemas))
		}
	}
	for _, part := range []string{`"oneOf":[{`, `"description":"seconds"`, `"additionalProperties":false`} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the document lacks %s", part)
		}
	}
	if strings.Contains(a.body, "ErrorModel") {
		t.Error("the document speaks of an error shape that is never sent")
	}
}
