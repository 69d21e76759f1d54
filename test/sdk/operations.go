package sdk

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// Calls are the requests that a server has answered well.
type Calls struct {
	mu       sync.Mutex
	requests map[string]*http.Request // by method and path
}

// note adds the request of an answer.
func (c *Calls) note(resp *http.Response) {
	if resp.StatusCode >= http.StatusBadRequest {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = make(map[string]*http.Request)
	}
	request := &http.Request{Method: resp.Request.Method, URL: resp.Request.URL}
	c.requests[request.Method+" "+request.URL.Path] = request
}

// everyScenario runs the scenarios that are not long, and wants them to call every operation.
func everyScenario(t *testing.T, runner ...string) {
	t.Helper()
	var calls []*Calls
	t.Run("scenarios", func(t *testing.T) { calls = append(calls, Scenarios(t, short, runner...)) })
	t.Run("keys", func(t *testing.T) { calls = append(calls, KeyScenarios(t, runner...)) })
	t.Run("operations", func(t *testing.T) { everyOperation(t, calls) })
}

// everyOperation wants the calls together to have each operation of the OpenAPI document: an SDK that lacks one makes its users write
// HTTP by hand.
func everyOperation(t *testing.T, calls []*Calls) {
	t.Helper()
	missing := operations(t)
	routes := http.NewServeMux()
	for pattern := range missing {
		routes.Handle(pattern, http.NotFoundHandler())
	}
	for _, made := range calls {
		for _, request := range made.requests {
			_, pattern := routes.Handler(request)
			delete(missing, pattern)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("no scenario calls %s (%s); expected a method of the SDK for it, and a step that uses the method", missing[pattern], pattern)
	}
}

// operations returns the names of the document's operations by their patterns, in the form of [http.ServeMux].
func operations(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(document(t))
	if err != nil {
		t.Fatal(err)
	}
	return operationsOf(t, text)
}

func operationsOf(t *testing.T, document []byte) map[string]string {
	t.Helper()
	var api struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(document, &api); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for path, methods := range api.Paths {
		if rest, ok := strings.CutSuffix(path, "/{path}"); ok {
			path = rest + "/{path...}" // of a file, with its directories
		}
		for method, operation := range methods {
			names[strings.ToUpper(method)+" "+path] = operation.OperationID
		}
	}
	if len(names) == 0 {
		t.Fatal("the document has no operations; expected those of the API")
	}
	return names
}

// document returns a file with the OpenAPI document of the REST API.
func document(t testing.TB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "-tags", "seccomp", "./test/sdk/document")
	cmd.Dir = testutil.Root(t)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
