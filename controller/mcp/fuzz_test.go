package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/controller/mcp"
)

// Any arguments are answered, and never with a fault of the server's.
func FuzzArguments(f *testing.F) {
	for tool, seed := range map[int]string{
		0: `{"template_id": "shell-basic", "timeout": "1h", "memory": "64Mi"}`, 1: `{"limit": 1}`, 3: `{"code": "echo a", "context": null}`,
		4: `{"sandbox_id": "ses_a", "command": "echo"}`, 5: `{"sandbox_id": "ses_a", "code": "", "event": {"__timeout": 1}, "context": {}}`,
		6: `{"sandbox_id": "ses_a", "path": "a\nb", "text": "", "mode": "644"}`, 9: `{"sandbox_id": "ses_a", "path": "", "data_base64": "AA=="}`, 12: "{\"\xff\": 1}",
	} {
		f.Add(tool, seed)
	}
	w := newWorld(f)
	handler := w.Handler()
	tools := mcp.ToolNames()
	f.Fuzz(func(t *testing.T, tool int, arguments string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		body := `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "` + tools[uint(tool)%uint(len(tools))] + `", "arguments": ` + arguments + `,
			"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}`
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": tools[uint(tool)%uint(len(tools))],
		} {
			r.Header.Set(name, value)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code >= http.StatusInternalServerError || strings.Contains(answer.Body.String(), "internal:") {
			t.Fatalf("arguments %q are answered %d %s", arguments, answer.Code, answer.Body)
		}
	})
}

// The URI of a file leads back to its path, for any name.
func FuzzFileURI(f *testing.F) {
	for _, seed := range []string{"a", "a/b c", "a?b#c%20", "ü/€", "..", "a//b", "/workspace/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		uri := mcp.FileURI("ses_a", path)
		parsed, err := url.Parse(uri)
		if err != nil {
			t.Fatalf("%q has the URI %q: %v", path, uri, err)
		}
		want := strings.TrimPrefix(strings.TrimPrefix(path, "/workspace/"), "/")
		if got := strings.TrimPrefix(parsed.Path, "/ses_a/"); got != want || parsed.Host != "session" {
			t.Errorf("%q has the URI %q, which leads to %q", path, uri, got)
		}
	})
}
