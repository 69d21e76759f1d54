package se_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/controllertest"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/se"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the older API over a real controller and store, and a node from package nodetest.
type world struct {
	*httptest.Server
	api  *se.API
	ctl  *controller.Controller
	node *nodetest.Node
}

func newWorld(t testing.TB, defaults se.Defaults) *world {
	t.Helper()
	w := &world{}
	w.ctl, w.node = controllertest.New(t)
	api, err := se.New(se.Config{Sessions: w.ctl, Executions: w.ctl, Files: w.ctl, Defaults: defaults})
	if err != nil {
		t.Fatal(err)
	}
	w.api = api
	mux := http.NewServeMux()
	for pattern, handler := range w.api.Handlers() {
		mux.Handle(pattern, handler)
	}
	mux.Handle(w.api.Unknown())
	w.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.node.Release()
		w.Client().CloseIdleConnections()
		w.Close()
	})
	return w
}

// answer is an answer of the API.
type answer struct {
	status  int
	header  http.Header
	Success bool
	Data    map[string]any
	Error   struct{ Code, Message, Field string }
}

func (w *world) send(t testing.TB, method, path, contentType string, body io.Reader) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+"/workspace/se"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (w *world) post(t testing.TB, path, body string) answer {
	t.Helper()
	return w.send(t, http.MethodPost, path, "application/json", strings.NewReader(body))
}

func (w *world) upload(t testing.TB, id string, parts ...[2]string) answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, part := range parts {
		create := form.CreateFormField
		if part[0] == "file" {
			create = func(name string) (io.Writer, error) { return form.CreateFormFile(name, "local.txt") }
		}
		to, err := create(part[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(to, part[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return w.send(t, http.MethodPost, "/upload/"+id, form.FormDataContentType(), &body)
}

func TestSessionIsAlias(t *testing.T) {
	w := newWorld(t, se.Defaults{CPU: 2, Memory: 256 << 20})
	first := w.post(t, "/session/mine", `{"memory_limit": 131072, "timeout": 20}`)
	if !first.Success || first.Data["session_id"] != "mine" || first.Data["status"] != "active" {
		t.Fatalf("a session is answered %+v", first)
	}
	if again := w.post(t, "/session/mine", ""); again.Data["yurt_session_id"] != first.Data["yurt_session_id"] {
		t.Errorf("the id names %v and then %v, expected one session", first.Data, again.Data)
	}
	id, _ := first.Data["yurt_session_id"].(string)
	session, err := w.ctl.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if session.Resources.Memory != 128<<20 || session.Resources.CPU != 2 {
		t.Errorf("the session has %+v, expected the memory of the request and the processors of the settings", session.Resources)
	}
	if ended := w.send(t, http.MethodDelete, "/session/mine", "", nil); !ended.Success {
		t.Errorf("the end is answered %+v", ended)
	}
	for _, gone := range []answer{w.post(t, "/execute/mine", `{"command": "echo x"}`), w.send(t, http.MethodDelete, "/session/mine", "", nil), w.send(t, http.MethodGet, "/files/other", "", nil)} {
		if gone.status != http.StatusNotFound || gone.Error.Code != "SESSION_NOT_FOUND" {
			t.Errorf("without a session the answer is %+v", gone)
		}
	}
	if next := w.post(t, "/session/mine", ""); !next.Success || next.Data["yurt_session_id"] == id {
		t.Errorf("after the end of a session its id is answered %+v, expected another session", next)
	}
}

func TestSessionsMadeAtOnceAreOne(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	var all sync.WaitGroup
	ids := make(chan any, 10)
	for range cap(ids) {
		all.Go(func() { ids <- w.post(t, "/session/same", "").Data["yurt_session_id"] })
	}
	all.Wait()
	close(ids)
	seen := map[any]bool{}
	for id := range ids {
		seen[id] = true
	}
	if len(seen) != 1 || seen[nil] {
		t.Errorf("those who asked at once got the sessions %v, expected one", seen)
	}
}

func TestExecutions(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	w.post(t, "/session/mine", "")
	tests := []struct {
		path, body string
		code       float64
		stdout     string
	}{
		{"/execute_code/mine", `{"code": "echo hello", "filename": "x.py", "script_type": "python"}`, 0, "hello\n"},
		{"/execute_code/mine", `{"code": "raise"}`, 1, ""},
		{"/execute/mine", `{"command": "echo out exit 3"}`, 3, "out\n"},
	}
	for _, tt := range tests {
		got := w.post(t, tt.path, tt.body)
		if !got.Success || got.Data["exit_code"] != tt.code || got.Data["stdout"] != tt.stdout {
			t.Errorf("%s %s is answered %+v", tt.path, tt.body, got)
		}
	}
	if failed := w.post(t, "/execute_code/mine", `{"code": "raise"}`); !strings.Contains(failed.Data["stderr"].(string), "ValueError: raised") {
		t.Errorf("code that raises has the output %v, expected the error in it", failed.Data)
	}
	handled := w.post(t, "/execute/mine", `{"code": "x", "event": {"n": 1}}`)
	if result, _ := handled.Data["result"].(map[string]any); result["n"] != 1.0 {
		t.Errorf("a handler is answered %+v, expected the event, which this node returns", handled)
	}
}

func TestFiles(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	w.post(t, "/session/mine", "")
	for _, form := range [][][2]string{
		{{"file", "one"}, {"path", "/workspace/files/"}}, {{"path", "files/"}, {"file", "one"}},
	} {
		if up := w.upload(t, "mine", form...); !up.Success || up.Data["path"] != "/workspace/files/local.txt" || up.Data["size"] != 3.0 {
			t.Errorf("the form %v is answered %+v", form, up)
		}
	}
	if up := w.upload(t, "mine", [2]string{"file", "two"}); up.Data["path"] != "/workspace/local.txt" {
		t.Errorf("a form without a path is answered %+v", up)
	}
	for _, form := range [][][2]string{
		{{"path", "../../etc/x"}, {"file", "x"}}, {{"file", "x"}, {"path", "../x"}}, {{"path", "a"}}, {{"file", "x"}, {"file", "y"}}, {{"path", "a\nb"}, {"file", "x"}},
	} {
		if up := w.upload(t, "mine", form...); up.Success || up.status >= http.StatusInternalServerError {
			t.Errorf("the form %v is answered %+v, expected an error", form, up)
		}
	}
	for _, target := range []string{"/etc/", "/etc/passwd", "/", "/workspaces/x"} {
		if up := w.upload(t, "mine", [2]string{"path", target}, [2]string{"file", "x"}); up.Success || up.Error.Code != "PATH_OUTSIDE_WORKSPACE" || up.Error.Field != "path" {
			t.Errorf("an upload to %s is answered %+v, expected that only paths of the workspace are taken", target, up)
		}
	}
	list := w.send(t, http.MethodGet, "/files/mine", "", nil)
	if files, _ := list.Data["files"].([]any); len(files) != 2 {
		t.Errorf("there are the files %v, expected the two that were taken and no part of the others", list.Data)
	}
	resp, err := w.Client().Get(w.URL + "/workspace/se/download/mine/files/local.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); err != nil || string(data) != "one" {
		t.Errorf("the file holds %q (%v), expected what was uploaded", data, err)
	}
	if missing := w.send(t, http.MethodGet, "/download/mine/nothing", "", nil); missing.Error.Code != "FILE_NOT_FOUND" || missing.status != http.StatusNotFound {
		t.Errorf("a file that is not there is answered %+v", missing)
	}
}

func TestBadInput(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	w.post(t, "/session/mine", "")
	tests := []struct{ path, body, code, field string }{
		{"/session/net", `{"allow_network": true}`, "NOT_SUPPORTED", "allow_network"},
		{"/session/net", `{"memory_limit": 1}`, "RESOURCE_LIMIT", "memory_limit"},
		{"/session/net", `{"memory_limit": "1"}`, "INVALID_ARGUMENT", "memory_limit"},
		{"/session/net", `{"cpu_quota": 1e9}`, "RESOURCE_LIMIT", "cpu_quota"},
		{"/session/net", `{"timeout": 99999}`, "RESOURCE_LIMIT", "timeout"},
		{"/session/net", `{"memory_limits": 1}`, "UNKNOWN_FIELD", "memory_limits"},
		{"/session/" + strings.Repeat("x", 129), "", "INVALID_ARGUMENT", "session_id"},
		{"/session/a%0Ab", "", "INVALID_ARGUMENT", "session_id"},
		{"/execute_code/mine", `{"code": 1}`, "INVALID_ARGUMENT", "code"},
		{"/execute_code/mine", "", "MALFORMED_BODY", ""},
		{"/execute_code/mine", `{"code": "x", "language": "cobol"}`, "LANGUAGE_NOT_SUPPORTED", "language"},
		{"/execute/mine", `{}`, "INVALID_ARGUMENT", "command"},
		{"/execute/mine", `{"command": "x", "code": "y"}`, "INVALID_ARGUMENT", "command"},
		{"/upload/mine", `{}`, "MALFORMED_BODY", "Content-Type"},
	}
	for _, tt := range tests {
		if got := w.post(t, tt.path, tt.body); got.Success || got.Error.Code != tt.code || got.Error.Field != tt.field {
			t.Errorf("%s %s is answered %+v, expected %s of %q", tt.path, tt.body, got, tt.code, tt.field)
		}
	}
	if form := w.send(t, http.MethodPost, "/execute/mine", "text/plain", strings.NewReader(`{"command": "echo"}`)); form.Error.Code != "MALFORMED_BODY" {
		t.Errorf("a body of another type is answered %+v", form)
	}
}

// TestUnknownOperations: a request for no operation is answered in the form of the API's other errors.
func TestUnknownOperations(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	for _, tt := range []struct {
		method, path, code, allow, says string
		status                          int
	}{
		{http.MethodGet, "/status/mine", "NOT_FOUND", "", "POST session/{id}", http.StatusNotFound},
		{http.MethodPost, "/create/mine", "NOT_FOUND", "", "POST upload/{id}", http.StatusNotFound},
		{http.MethodGet, "/", "NOT_FOUND", "", "GET healthy", http.StatusNotFound},
		{http.MethodGet, "/session/mine", "METHOD_NOT_ALLOWED", "POST, DELETE", "use POST, DELETE", http.StatusMethodNotAllowed},
		{http.MethodPut, "/download/mine/a/b", "METHOD_NOT_ALLOWED", "GET", "use GET", http.StatusMethodNotAllowed},
	} {
		got := w.send(t, tt.method, tt.path, "", nil)
		if got.Success || got.status != tt.status || got.Error.Code != tt.code || !strings.Contains(got.Error.Message, tt.says) || got.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s is answered %+v with Allow %q, expected %d %s that says %q", tt.method, tt.path, got, got.header.Get("Allow"), tt.status, tt.code, tt.says)
		}
	}
}

func TestFullNodeSaysWhenToComeAgain(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	full := yurt.Errorf(yurt.CodeOverloaded, "this node is full")
	for hint, want := range map[time.Duration]string{0: "1", 1200 * time.Millisecond: "2"} {
		full.RetryAfter = hint
		w.node.Fail("CreateSandbox", full)
		if got := w.post(t, "/session/mine", ""); got.status != http.StatusTooManyRequests || got.Error.Code != "OVERLOADED" || got.header.Get("Retry-After") != want {
			t.Errorf("a full node that says %s is answered %+v with Retry-After %q, expected %s", hint, got, got.header.Get("Retry-After"), want)
		}
	}
	if got := w.post(t, "/session/mine", `{"cpu_quota": "\ud800"}`); got.Error.Code != "INVALID_ARGUMENT" || got.header.Get("Retry-After") != "" {
		t.Errorf("a wrong value is answered %+v", got)
	}
}

func TestDrainEndsRequestsAndNotExecutions(t *testing.T) {
	w := newWorld(t, se.Defaults{})
	id, _ := w.post(t, "/session/mine", "").Data["yurt_session_id"].(string)
	ended := make(chan answer, 1)
	go func() { ended <- w.post(t, "/execute/mine", `{"command": "block echo x"}`) }()
	for range 500 {
		if session, err := w.ctl.Session(t.Context(), id); err == nil && session.State == yurt.SessionRunning {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.api.Drain()
	if got := <-ended; got.Error.Code != "UNAVAILABLE" || got.status != http.StatusServiceUnavailable {
		t.Errorf("the request ends with %+v, expected that the server shuts down", got)
	}
	if session, err := w.ctl.Session(t.Context(), id); err != nil || session.State != yurt.SessionRunning {
		t.Errorf("the session is %s (%v), expected that the execution goes on", session.State, err)
	}
}

func FuzzBodies(f *testing.F) {
	for path, seed := range map[string]string{
		"/session/a": `{"cpu_quota": 2, "memory_limit": 131072, "timeout": 300}`, "/execute_code/a": `{"code": "echo x", "timeout": 1}`,
		"/execute/a": `{"code": "x", "event": {"__timeout": 1}}`, "/upload/a": "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\ndata\r\n--x--",
	} {
		f.Add(path, seed)
	}
	w := newWorld(f, se.Defaults{})
	mux := http.NewServeMux()
	for pattern, handler := range w.api.Handlers() {
		mux.Handle(pattern, handler)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/workspace/se/session/a", strings.NewReader(body))
		r.URL.Path = "/workspace/se/" + kind + "/a"
		r.Header.Set("Content-Type", "application/json")
		if kind == "upload" {
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, r)
		if answer.Code == http.StatusInternalServerError {
			t.Fatalf("%s with %q is answered %s", path, body, answer.Body)
		}
	})
}
