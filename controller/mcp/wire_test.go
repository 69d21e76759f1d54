package mcp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	older  = "2025-11-25" // the last revision with connections
	newest = "2026-07-28"
)

// wire is an MCP client that writes its requests itself.
type wire struct {
	url, revision, connection string
}

func (c *wire) do(t testing.TB, method, body string, headers ...string) (status int, header http.Header, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", c.revision)
	if c.connection != "" {
		req.Header.Set("Mcp-Session-Id", c.connection)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// dial returns a client of the older revision with a connection.
func (w *world) dial(t testing.TB) *wire {
	t.Helper()
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	c := &wire{url: server.URL, revision: older}
	status, header, answer := c.do(t, "POST", `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "`+older+`", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}}`)
	if c.connection = header.Get("Mcp-Session-Id"); status != 200 || c.connection == "" {
		t.Fatalf("initialize answers %d %s, expected a connection", status, answer)
	}
	if status, _, answer := c.do(t, "POST", `{"jsonrpc": "2.0", "method": "notifications/initialized"}`); status != 202 {
		t.Fatalf("initialized answers %d %s", status, answer)
	}
	return c
}
