package sdk

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestBrowser uses the package in a page of Chromium, bundled as users bundle it. The page comes from the address that the API
// is at, as the server answers no page of another origin, which the test shows as well. A page with the token of a sandbox uses it.
func TestBrowser(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	project := installedTypescript(t, "playwright-core@1.65.1")
	bundle := filepath.Join(project, "page.js")
	run(t, project, "esbuild", "--bundle", "--format=iife", "--outfile="+bundle, "page.mjs")
	text, err := os.ReadFile(bundle)
	if err != nil || strings.Contains(string(text), "node:fs") {
		t.Fatalf("the bundle for browsers holds parts for Node (%v)", err)
	}
	address, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	own := pages(t, passing(t, address), string(text))
	foreign := pages(t, http.NotFoundHandler(), `fetch("`+own+`/api/v1/sessions", {method: "POST", body: "{}"})
		.then((answer) => { verdict = "answered " + answer.status }, () => { verdict = "refused" })`)
	server := keyedServer(t)
	holding := pages(t, passing(t, server.url), server.tokenScript(t)+string(text))
	out := readme.Bash(t, project, node(t)+" browser.mjs "+own+"/page.html "+foreign+"/page.html "+holding+"/page.html", "HOME="+t.TempDir())
	if out != "all used\nrefused\nall used\n" {
		t.Errorf("the pages said %q, expected that the first and the last used all and the other was refused", out)
	}
}

// tokenScript returns a script that tells a page a sandbox, a token for it, and the API key that made both.
func (s keyed) tokenScript(t *testing.T) string {
	t.Helper()
	_, key := s.key(t, access.SessionsRead, access.SessionsWrite, access.SessionsExecute)
	box, err := s.client(t, key).Create(t.Context(), yurtclient.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := box.CreateToken(t.Context(), yurtclient.CreateTokenRequest{Scopes: []access.Scope{access.SessionsRead, access.SessionsExecute}})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("window.box = %q; window.token = %q; window.key = %q;\n", box.ID, token.Reveal(), key)
}

// passing passes requests on to a server.
func passing(t *testing.T, address string) http.Handler {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
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
