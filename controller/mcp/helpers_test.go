package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/controllertest"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an MCP server over a real controller and store, and a node from package nodetest.
type world struct {
	*mcp.Server
	ctl  *controller.Controller
	node *nodetest.Node
}

func newWorld(t testing.TB, changes ...func(*mcp.Config)) *world {
	t.Helper()
	w := &world{}
	w.ctl, w.node = controllertest.New(t)
	config := mcp.Config{Sessions: w.ctl, Executions: w.ctl, Files: w.ctl, Version: "1.2.3"}
	for _, change := range changes {
		change(&config)
	}
	server, err := mcp.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = server
	t.Cleanup(func() {
		w.node.Release()
		w.Close()
	})
	return w
}

// connect connects a client of a name over HTTP, in the newest revision that both sides know.
func (w *world) connect(t testing.TB, name string) *sdk.ClientSession {
	t.Helper()
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	return connectTo(t, name, server.URL)
}

func connectTo(t testing.TB, name, url string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool and wants it to succeed.
func call(t testing.TB, session *sdk.ClientSession, tool string, arguments any) map[string]any {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		t.Fatalf("%s: %s", tool, textOf(result))
	}
	structured, is := result.StructuredContent.(map[string]any)
	if !is {
		t.Fatalf("%s answers with %T, expected an object", tool, result.StructuredContent)
	}
	return structured
}

// refused calls a tool and wants an error that holds the words.
func refused(t testing.TB, session *sdk.ClientSession, tool string, arguments any, words ...string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := textOf(result)
	if !result.IsError {
		t.Fatalf("%s answers %q, expected an error", tool, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s answers %q, expected %q in it", tool, text, word)
		}
	}
}

func textOf(result *sdk.CallToolResult) string {
	var parts []string
	for _, content := range result.Content {
		if text, is := content.(*sdk.TextContent); is {
			parts = append(parts, text.Text)
		}
	}
	return strings.Join(parts, "\n")
}

type object = map[string]any

func raw(text string) json.RawMessage { return json.RawMessage(text) }
