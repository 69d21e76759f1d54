package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkExecute measures the part of REST, controller and store in an execution: the node does no work.
func BenchmarkExecute(b *testing.B) {
	s := newServer(b)
	path := "/api/v1/sessions/" + s.session(b, "python-basic") + "/execute"
	b.Run("in-process", func(b *testing.B) {
		for b.Loop() {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"command": "echo a"}`))
			w := httptest.NewRecorder()
			if s.api.ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	})
	b.Run("loopback", func(b *testing.B) {
		for b.Loop() {
			if a := s.do(b, "POST", path, `{"command": "echo a"}`); a.status != http.StatusOK {
				b.Fatal(a.body)
			}
		}
	})
}

// BenchmarkSession is a session's whole life on a node that does no work.
func BenchmarkSession(b *testing.B) {
	s := newServer(b)
	for b.Loop() {
		if a := s.do(b, "DELETE", "/api/v1/sessions/"+s.session(b, "shell-basic"), ""); a.status != http.StatusOK {
			b.Fatal(a.body)
		}
	}
}
