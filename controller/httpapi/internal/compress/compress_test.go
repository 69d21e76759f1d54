package compress_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/controller/httpapi/internal/compress"
)

// TestBound: while 32 answers are being made, further ones go out as they are.
func TestBound(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	handler := compress.New("application/json")(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			begun <- struct{}{}
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(strings.Repeat("a", 4096)))
	}))
	ask := func(path string) string {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Header.Set("Accept-Encoding", "gzip")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Header().Get("Content-Encoding")
	}
	waiting := make(chan string)
	for range 32 {
		go func() { waiting <- ask("/wait") }()
		<-begun
	}
	if got := ask("/now"); got != "" {
		t.Errorf("the 33rd answer has the encoding %q, want none", got)
	}
	close(release)
	for range 32 {
		if got := <-waiting; got != "gzip" {
			t.Errorf("a waiting answer has the encoding %q, want gzip", got)
		}
	}
	if got := ask("/now"); got != "gzip" {
		t.Errorf("an answer afterwards has the encoding %q, want gzip", got)
	}
}
