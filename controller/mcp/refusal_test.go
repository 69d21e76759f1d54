package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRefusalsAreJSON: a message that is refused has an error of JSON-RPC as its answer, with its id where it has one.
func TestRefusalsAreJSON(t *testing.T) {
	c := newWorld(t).dial(t)
	const meta = `"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "` + newest + `", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"}}}`
	for _, test := range []struct {
		name, revision, body string
		status, code         int
		id                   any
	}{
		{"unknown method", older, `{"jsonrpc": "2.0", "id": 7, "method": "tools/nothing", "params": {}}`, 200, -32601, 7.},
		{"unknown method, id a text", older, `{"method": "nothing", "jsonrpc": "2.0", "id": "a"}`, 200, -32601, "a"},
		{"unknown notification", older, `{"jsonrpc": "2.0", "method": "nothing"}`, 400, -32601, nil},
		{"no JSON", older, `{"jsonrpc": "2.0", "id": 7`, 400, -32700, nil},
		{"no body", older, ``, 400, -32600, nil},
		{"no message", older, `{"id": 7}`, 400, -32600, 7.},
		{"a text", older, `"tools/list"`, 400, -32600, nil},
		{"method is a number", older, `{"jsonrpc": "2.0", "id": 7, "method": 7}`, 400, -32600, 7.},
		{"another version of JSON-RPC", older, `{"jsonrpc": "1.0", "id": 7, "method": "tools/list"}`, 400, -32600, 7.},
		{"batch", older, `[{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}]`, 400, -32600, nil},
		{"no id", older, `{"jsonrpc": "2.0", "method": "tools/list"}`, 400, -32600, nil},
		{"no params", older, `{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}`, 400, -32600, 7.},
		{"unknown revision", "2024-01-01", `{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}`, 400, -32600, nil},
		{"unknown method", newest, `{"jsonrpc": "2.0", "id": 7, "method": "tools/nothing", ` + meta + `}`, 404, -32601, 7.},
		{"no JSON", newest, `{"jsonrpc": "2.0", "id": 7`, 400, -32700, nil},
		{"no message", newest, `{"id": 7}`, 400, -32600, 7.},
		{"method is a number", newest, `{"jsonrpc": "2.0", "id": 7, "method": 7}`, 400, -32600, 7.},
		{"batch", newest, `[{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}]`, 400, -32600, nil},
		{"no id", newest, `{"jsonrpc": "2.0", "method": "tools/list"}`, 400, -32600, nil},
	} {
		t.Run(test.revision+" "+test.name, func(t *testing.T) {
			sender := *c
			var headers []string
			if sender.revision = test.revision; test.revision == newest {
				sender.connection = ""
				headers = []string{"Mcp-Method", "tools/nothing"}
			}
			status, header, answer := sender.do(t, "POST", test.body, headers...)
			var got struct {
				JSONRPC string
				ID      any
				Error   struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal([]byte(answer), &got); err != nil || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
				t.Fatalf("the answer is %d %s %q (%v), expected an error of JSON-RPC", status, header.Get("Content-Type"), answer, err)
			}
			if status != test.status || got.JSONRPC != "2.0" || got.Error.Code != test.code || got.Error.Message == "" || got.ID != test.id {
				t.Errorf("the answer is %d %s, expected %d with the code %d and the id %v", status, answer, test.status, test.code, test.id)
			}
		})
	}
	if status, _, answer := c.do(t, "POST", `{"jsonrpc": "2.0", "id": 8, "method": "ping"}`); status != 200 || !strings.Contains(answer, `"result"`) {
		t.Errorf("after all that a ping is answered %d %s, expected a result", status, answer)
	}
}
