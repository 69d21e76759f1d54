package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/controllertest"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/contexts"
	"github.com/yurtrun/yurt/controller/httpapi/fleet"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/internal/httpcode"
	"github.com/yurtrun/yurt/test/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an API over a real controller and store, and a node from package
// nodetest.
type server struct {
	*httptest.Server
	api  *httpapi.API
	ctl  *controller.Controller
	node *nodetest.Node
	logs *nodetest.Logs
}

func newServer(t testing.TB, changes ...func(*httpapi.Config)) *server {
	t.Helper()
	s := &server{logs: &nodetest.Logs{}}
	metrics := prometheus.NewRegistry()
	logger := slog.New(slog.NewTextHandler(s.logs, nil))
	s.ctl, s.node = controllertest.New(t, func(c *controller.Config) { c.Logger, c.Metrics = logger, metrics })
	config := httpapi.Config{
		Controller: s.ctl, Version: "1.2.3", Commit: "abc", Logger: logger, Metrics: metrics, Heartbeat: time.Hour,
		ParseTemplateJSON: parseJSON, ParseTemplateHCL: parseHCL, Extensions: []httpapi.Extension{contexts.Operations(s.ctl), fleet.Operations(s.ctl)},
	}
	for _, change := range changes {
		change(&config)
	}
	api, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s.api = api
	s.Server = httptest.NewServer(s.api)
	document, err := contract.Fetch(context.Background(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Client().Transport = document.Transport(s.Client().Transport, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		s.node.Release()
		s.Server.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// parseJSON and parseHCL stand in for package hcl, which has tests of its own.
func parseJSON(src []byte) (yurt.Template, error) {
	var t yurt.Template
	if err := json.Unmarshal(src, &t); err != nil {
		return t, yurt.Errorf(yurt.CodeTemplateInvalid, "not a template")
	}
	return t, nil
}

func parseHCL(_ context.Context, _ string, src []byte) ([]yurt.Template, error) {
	var list []yurt.Template
	for _, name := range strings.Fields(string(src)) {
		list = append(list, yurt.Template{Name: name})
	}
	return list, nil
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("decoding %s: %v", a.body, err)
	}
}

// do makes a request; headers are pairs. The path is sent as it is.
func (s *server) do(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	path, req.URL.RawQuery, _ = strings.Cut(path, "?")
	req.URL.Opaque = path // no cleaning and no escaping
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	client := *s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// session makes a persistent session of a template.
func (s *server) session(t testing.TB, template string) string {
	t.Helper()
	a := s.do(t, "POST", "/api/v1/sessions", `{"template_id": "`+template+`", "mode": "persistent"}`)
	var session yurt.Session
	if a.decode(t, &session); a.status != http.StatusCreated || session.State != yurt.SessionReady {
		t.Fatalf("creating a session: %d %s", a.status, a.body)
	}
	return session.ID
}

// problem is an error body.
type problem struct {
	Type, Title, Detail, Field string
	Status                     int
	Code                       yurt.Code
	RequestID                  string `json:"request_id"`
	Errors                     []struct{ Message, Location string }
}

func wantProblem(t *testing.T, a answer, code yurt.Code, field string) {
	t.Helper()
	var p problem
	a.decode(t, &p)
	if p.Code != code || p.Field != field || a.status != httpcode.Of(code) || p.Status != a.status {
		t.Errorf("answer %d %s\nwant code %q, field %q, status %d", a.status, a.body, code, field, httpcode.Of(code))
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q, want that of a problem", got)
	}
	if p.Detail == "" || p.Title == "" || p.Type == "" || p.RequestID == "" || p.RequestID != a.header.Get("X-Request-Id") {
		t.Errorf("the problem is not complete: %s", a.body)
	}
}
