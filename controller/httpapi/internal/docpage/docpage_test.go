package docpage_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/controller/httpapi/internal/docpage"
)

// TestDocsAreOffline: the page loads no file from elsewhere, and its one foreign script is the one in the licence file.
func TestDocsAreOffline(t *testing.T) {
	script, err := os.ReadFile("page/scalar.js")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(script)
	if got := hex.EncodeToString(sum[:]); got != "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c" {
		t.Errorf("page/scalar.js has the digest %s: say in SCALAR-LICENSE where it comes from, and here what it is", got)
	}
	mux := http.NewServeMux()
	docpage.Handle(mux)
	get := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != http.StatusOK || answer.Body.Len() == 0 {
			t.Fatalf("%s: status %d and %d bytes, want the page", path, answer.Code, answer.Body.Len())
		}
		return answer
	}
	for _, path := range []string{"/docs", "/docs/page.js"} {
		if found := regexp.MustCompile(`(https?:)?//[a-z0-9]`).FindString(get(path).Body.String()); found != "" {
			t.Errorf("%s speaks of another host: %s", path, found)
		}
	}
	policy := get("/docs").Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "http") || strings.Contains(policy, "unsafe-eval") {
		t.Errorf("the page may load %q", policy)
	}
}
