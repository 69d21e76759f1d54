package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
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
	s := newServer(t)
	for _, path := range []string{"/docs", "/docs/page.js"} {
		if found := regexp.MustCompile(`(https?:)?//[a-z0-9]`).FindString(s.do(t, "GET", path, "").body); found != "" {
			t.Errorf("%s speaks of another host: %s", path, found)
		}
	}
	policy := s.do(t, "GET", "/docs", "").header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "http") || strings.Contains(policy, "unsafe-eval") {
		t.Errorf("the page may load %q", policy)
	}
}
