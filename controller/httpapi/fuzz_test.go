package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fuzzBody sends any body to a route: the answer is never a fault of the server's.
func fuzzBody(f *testing.F, s *server, path string) {
	f.Helper()
	f.Fuzz(func(t *testing.T, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		switch {
		case w.Code == http.StatusNotImplemented: // asks for a feature that does not exist yet
		case w.Code >= http.StatusInternalServerError:
			t.Fatalf("body %q is answered %d %s", body, w.Code, w.Body)
		case w.Code >= http.StatusBadRequest && w.Header().Get("Content-Type") != "application/problem+json":
			t.Fatalf("body %q is answered %d as %q", body, w.Code, w.Header().Get("Content-Type"))
		}
	})
}

func FuzzCreateSession(f *testing.F) {
	for _, seed := range []string{
		`{"template_id": "shell-basic"}`, `{"template_id":"shell-basic","timeout":"1h","resources":{"cpu":1,"memory":"64Mi"}}`,
		`{"template_id": null, "env": {"A": "b"}}`, `{"metadata": {"a": 1}}`, `[`, `{"resources": []}`, `{"timeout": 1e999}`, "{\"\xff\": 1}",
		`{"template_id": "shell-basic", "files": {"a": "text", "b/c": {"base64": "/wA="}}}`, `{"template_id": "shell-basic", "files": {"../a": "", "a": {"base64": null}}}`,
	} {
		f.Add(seed)
	}
	fuzzBody(f, newServer(f), "/api/v1/sessions")
}

func FuzzExecute(f *testing.F) {
	for _, seed := range []string{
		`{"command": "echo a"}`, `{"command": ["x", "raise"], "async": true}`, `{"code": "x", "event": {"__timeout": 1}}`,
		`{"code": "x", "event": null, "context": {}}`, `{"command": "echo a", "stream": true}`, `{"command": {}}`, `{"stdin": 1}`, `{"cwd": "a", "command": "x"}`,
	} {
		f.Add(seed)
	}
	s := newServer(f)
	fuzzBody(f, s, "/api/v1/sessions/"+s.session(f, "polyglot")+"/execute")
}
