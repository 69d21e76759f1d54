// Package docpage is the page with the documentation of the REST API. It works without a network, and loads files from its
// own server alone.
package docpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"time"
)

// page is the documentation. scalar.js comes from npm as SCALAR-LICENSE says, and a
// test holds it to that.
//
//go:embed page
var page embed.FS

// docsPolicy lets the page load files from this server only. Scalar styles elements in place, so inline styles are
// allowed; inline scripts are not.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handle serves the page at /docs, and leads / to it.
func Handle(mux *http.ServeMux) {
	for path, file := range map[string]struct{ name, contentType string }{
		"/docs":           {"page/page.html", "text/html; charset=utf-8"},
		"/docs/page.js":   {"page/page.js", "text/javascript; charset=utf-8"},
		"/docs/scalar.js": {"page/scalar.js", "text/javascript; charset=utf-8"},
	} {
		content, err := page.ReadFile(file.name)
		if err != nil {
			panic("docpage: a page that is part of the binary: " + err.Error())
		}
		mux.Handle("GET "+path, staticFile(content, file.contentType))
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/docs", http.StatusFound))
}

// staticFile serves content, which a browser keeps as long as it stays the same.
func staticFile(content []byte, contentType string) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("ETag", tag)
		header.Set("Cache-Control", "no-cache")
		header.Set("Content-Security-Policy", docsPolicy)
		header.Set("Referrer-Policy", "no-referrer")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
