package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/sqlite"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
)

// carriesOutOnce has a server keep requests with idempotency keys.
func carriesOutOnce(t *testing.T) func(*httpapi.Config) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "once.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	requests, err := once.New(once.Config{Store: sqlite.Requests(store)})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *httpapi.Config) { c.Once = requests }
}

// TestRepeatedRequests: a change that is sent again with its key is not made again, and has the first answer.
func TestRepeatedRequests(t *testing.T) {
	s := newServer(t, carriesOutOnce(t))
	session := "/api/v1/sessions/" + s.session(t, "shell-basic")
	for n, request := range []struct{ path, body string }{
		{session + "/pause", ""},
		{session + "/resume", ""},
		{session + "/timeout", `{"timeout": 100}`},
		{"/api/v1/templates", `{"name": "made-once"}`},
	} {
		key := strings.Repeat("k", n+1)
		first := s.do(t, "POST", request.path, request.body, "Idempotency-Key", key)
		second := s.do(t, "POST", request.path, request.body, "Idempotency-Key", key)
		if first.status/100 != 2 || second.status != first.status || second.body != first.body || second.header.Get("Location") != first.header.Get("Location") {
			t.Errorf("%s was answered by %d %s, and then by %d %s", request.path, first.status, first.body, second.status, second.body)
		}
	}
	create := func(body string) answer {
		return s.do(t, "POST", "/api/v1/templates", body, "Idempotency-Key", "template")
	}
	wantProblem(t, create(`{"name": "made-once"}`), yurt.CodeTemplateExists, "name")
	if a := create(`{"name": "another"}`); a.status != http.StatusCreated {
		t.Errorf("after a refusal the key has the answer %d %s", a.status, a.body)
	}
	wantProblem(t, create(`{"name": "a-third"}`), yurt.CodeIdempotencyConflict, "Idempotency-Key")
}

// TestRepeatedStream: a template whose stream ended with a failure is made when the request is sent again with its key, and once.
func TestRepeatedStream(t *testing.T) {
	s := newServer(t, carriesOutOnce(t))
	const template = `{"name": "made-once"}`
	create := func() *stream {
		return s.openStream(t, "POST", "/api/v1/templates", template, "Accept", "text/event-stream", "Idempotency-Key", "key")
	}
	s.do(t, "POST", "/api/v1/templates", template)
	if events := create().rest(); !slices.Equal(events, []string{"1 failed"}) {
		t.Fatalf("the stream has the events %q, expected that the name is taken", events)
	}
	s.do(t, "DELETE", "/api/v1/templates/made-once", "")
	if events := create().rest(); !slices.Equal(events, []string{"1 created"}) {
		t.Errorf("after a failure the stream has the events %q, expected that the template is made", events)
	}
	wantProblem(t, s.do(t, "POST", "/api/v1/templates", template, "Accept", "text/event-stream", "Idempotency-Key", "key"), yurt.CodeIdempotencyConflict, "Idempotency-Key")
}

// TestRepeatedCallsOfClient: a call of the Go client with a key, which is made again, begins one execution.
func TestRepeatedCallsOfClient(t *testing.T) {
	s := newServer(t, carriesOutOnce(t))
	client := contract.Client(t, s.URL)
	ctx := yurtclient.WithIdempotencyKey(t.Context(), "key")
	var ids []string
	session := s.session(t, "shell-basic")
	for range 2 {
		started, err := client.Start(ctx, session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo a"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, started.ID)
	}
	if ids[0] != ids[1] {
		t.Errorf("one call began the executions %v", ids)
	}
	if _, err := client.PauseSession(ctx, session); yurt.CodeOf(err) != yurt.CodeIdempotencyConflict {
		t.Errorf("another call with the key: %v", err)
	}
	if _, err := client.Session(ctx, session); err != nil {
		t.Errorf("a call that changes nothing: %v", err)
	}
}

// lossy loses the first answer to each key, and to each request without a key, after it was carried out.
type lossy struct {
	http.RoundTripper
	mu   sync.Mutex
	seen map[string]bool
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	name := r.Method + r.URL.Path + r.Header.Get("Idempotency-Key")
	if err != nil || l.seen[name] {
		return resp, err
	}
	l.seen[name] = true
	return nil, errors.Join(io.ErrUnexpectedEOF, resp.Body.Close())
}

// TestClientRepeatsItsCalls: the Go client repeats a call whose answer is lost, and the call is carried out once. It does not repeat a
// call that the server would carry out again.
func TestClientRepeatsItsCalls(t *testing.T) {
	s := newServer(t, carriesOutOnce(t))
	transport := &lossy{RoundTripper: http.DefaultTransport, seen: map[string]bool{}}
	c, err := yurtclient.New(s.URL, yurtclient.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, session := t.Context(), s.session(t, "shell-basic")
	echo := yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo a"}}
	for name, call := range map[string]func() error{
		"execute": func() error { _, err := c.Execute(ctx, session, echo); return err },
		"start":   func() error { _, err := c.Start(ctx, session, echo); return err },
		"stream": func() error {
			_, err := c.ExecuteStream(ctx, session, echo, func(yurt.Event) error { return nil })
			return err
		},
		"timeout": func() error { _, err := c.SetSessionTimeout(ctx, session, yurt.Duration(time.Hour), 0); return err },
		"read":    func() error { _, err := c.Session(ctx, session); return err },
		"create": func() error {
			_, err := c.Create(ctx, yurtclient.CreateSessionRequest{TemplateID: "shell-basic"})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s, whose first answer is lost: %v", name, err)
		}
	}
	if page, err := c.Executions(ctx, session, yurtclient.ExecutionFilter{}); err != nil || len(page.Executions) != 3 {
		t.Errorf("three calls began %d executions, error %v", len(page.Executions), err)
	}
	if page, err := c.Sessions(ctx, yurtclient.SessionFilter{}); err != nil || len(page.Sessions) != 2 {
		t.Errorf("there are %d sessions, expected 2, error %v", len(page.Sessions), err)
	}
	_, appended := c.WriteFile(ctx, session, "a", strings.NewReader("a"), yurt.WriteOptions{Append: true})
	_, created := c.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: "shell-basic"})
	for name, err := range map[string]error{"append": appended, "create without a key": created} {
		if yurt.CodeOf(err) != yurt.CodeUnavailable {
			t.Errorf("%s, which must not be repeated: %v", name, err)
		}
	}
	if ended, err := c.EndSession(ctx, session); err != nil || ended.State != yurt.SessionTerminated {
		t.Errorf("the end of a session, whose first answer is lost: %+v, error %v", ended, err)
	}
	if _, err := c.EndSession(ctx, session); yurt.CodeOf(err) != yurt.CodeSessionEnded {
		t.Errorf("a second end of the session: %v", err)
	}
}

// TestClientWaitsForServer: a client waits for a server, unless it is to fail at once.
func TestClientWaitsForServer(t *testing.T) {
	for name, test := range map[string]struct {
		options     []yurtclient.Option
		least, most time.Duration
	}{
		"waits":         {[]yurtclient.Option{yurtclient.WithPatience(time.Second)}, 300 * time.Millisecond, time.Minute},
		"does not wait": {[]yurtclient.Option{yurtclient.WithoutWaiting()}, 0, 5 * time.Second},
	} {
		c, err := yurtclient.New("http://127.0.0.1:1", test.options...)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = c.PauseSession(t.Context(), "ses_a")
		if took := time.Since(begun); yurt.CodeOf(err) != yurt.CodeUnavailable || took < test.least || took > test.most {
			t.Errorf("a client that %s failed after %s with %v", name, took, err)
		}
	}
}

// TestRepeatedExecute: an execute that is sent again with its key is about the same execution, whether the client waits, follows its
// events or does not wait.
func TestRepeatedExecute(t *testing.T) {
	s := newServer(t, carriesOutOnce(t))
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	for key, body := range map[string]string{
		"waits": `{"command": "echo a"}`, "async": `{"command": "echo b", "async": true}`,
	} {
		first := s.do(t, "POST", path+"/execute", body, "Idempotency-Key", key)
		second := s.do(t, "POST", path+"/execute", body, "Idempotency-Key", key)
		if first.status/100 != 2 || second.status != first.status || second.header.Get("Location") != first.header.Get("Location") {
			t.Errorf("%s was answered by %d %s, and then by %d %s", body, first.status, first.body, second.status, second.body)
		}
	}
	const streamed = `{"command": "echo c", "stream": true}`
	events := s.openStream(t, "POST", path+"/execute", streamed, "Idempotency-Key", "streams").rest()
	again := s.openStream(t, "POST", path+"/execute", streamed, "Idempotency-Key", "streams").rest()
	if len(events) != 3 || strings.Join(again, "\n") != strings.Join(events, "\n") {
		t.Errorf("the stream has the events %q, and then %q", events, again)
	}
	if n := strings.Count(s.do(t, "GET", path+"/executions", "").body, `"id":"exe_`); n != 3 {
		t.Errorf("there are %d executions for three keys", n)
	}
	wantProblem(t, s.do(t, "POST", path+"/execute", `{"command": "echo d"}`, "Idempotency-Key", "waits"), yurt.CodeIdempotencyConflict, "Idempotency-Key")
	wantProblem(t, s.do(t, "POST", path+"/execute", `{"command": []}`, "Idempotency-Key", "refused"), yurt.CodeInvalidArgument, "command")
	if a := s.do(t, "POST", path+"/execute", `{"command": "echo e"}`, "Idempotency-Key", "refused"); a.status != http.StatusOK {
		t.Errorf("after a refusal the key has the answer %d %s", a.status, a.body)
	}
}
