package sdk

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestBrowser uses the package in a page of Chromium, bundled as users bundle it. The page comes from the address that the API
// is at, as the server answers no page of another origin, which the test shows as well.
func TestBrowser(t *testing.T) {
	testutil.NeedsSandboxes(t)
	project := installedTypescript(t, "playwright-core@1.65.1")
	bundle := filepath.Join(project, "page.js")
	run(t, project, "esbuild", "--bundle", "--format=iife", "--outfile="+bundle, "page.mjs")
	text, err := os.ReadFile(bundle)
	if err != nil || strings.Contains(string(text), "node:fs") {
		t.Fatalf("the bundle for browsers holds parts for Node (%v)", err)
	}
	address, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	own := pages(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}, string(text))
	foreign := pages(t, http.NotFoundHandler(), `fetch("`+own+`/api/v1/sessions", {method: "POST", body: "{}"})
		.then((answer) => { verdict = "answered " + answer.status }, () => { verdict = "refused" })`)
	out := readme.Bash(t, project, node(t)+" browser.mjs "+own+"/page.html "+foreign+"/page.html", "HOME="+t.TempDir())
	if out != "all used\nrefused\n" {
		t.Errorf("the pages said %q, expected that one used all and the other was refused", out)
	}
}

// pages serves a page with a script at /page.html, and the API elsewhere.
func pages(t *testing.T, api http.Handler, script string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/api/", api)
	mux.HandleFunc("GET /page.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if _, err := w.Write([]byte("<!doctype html><meta charset=utf-8><script>" + strings.ReplaceAll(script, "</script", `<\/script`) + "</script>")); err != nil {
			t.Log(err)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
