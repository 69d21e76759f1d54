package contract

import (
	"net/http"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// Client returns a client of the server at url that fails the test when an answer violates the
// server's own document. It repeats no call, so that a test sees each answer. Its idle connections are closed when the test ends.
func Client(t testing.TB, url string) *yurtclient.Client {
	t.Helper()
	document, err := Fetch(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	connections := &http.Transport{Proxy: http.ProxyFromEnvironment}
	t.Cleanup(connections.CloseIdleConnections)
	transport := document.Transport(connections, func(err error) { t.Error(err) })
	client, err := yurtclient.New(url, yurtclient.WithHTTPClient(&http.Client{Transport: transport}), yurtclient.WithPatience(0))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
