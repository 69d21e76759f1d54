package fleet_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/controllertest"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/fleet"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/internal/httpcode"
	"github.com/yurtrun/yurt/test/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an API over a real controller and store, and a node from package nodetest.
type server struct {
	*httptest.Server
	ctl  *controller.Controller
	node *nodetest.Node
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.ctl, s.node = controllertest.New(t)
	api, err := httpapi.New(httpapi.Config{Controller: s.ctl, Extensions: []httpapi.Extension{fleet.Operations(s.ctl)}})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(api)
	t.Cleanup(s.Close)
	document, err := contract.Fetch(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Client().Transport = document.Transport(s.Client().Transport, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		s.node.Release()
		s.Server.Client().CloseIdleConnections()
	})
	return s
}

// answer is a response that was read.
type answer struct {
	status int
	body   string
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("decoding %s: %v", a.body, err)
	}
}

// do makes a request.
func (s *server) do(t *testing.T, method, path, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(data)}
}

func wantProblem(t *testing.T, a answer, code yurt.Code, field string) {
	t.Helper()
	var problem struct {
		Code  yurt.Code
		Field string
	}
	a.decode(t, &problem)
	if problem.Code != code || problem.Field != field || a.status != httpcode.Of(code) {
		t.Errorf("answer %d %s\nwant code %q, field %q, status %d", a.status, a.body, code, field, httpcode.Of(code))
	}
}
