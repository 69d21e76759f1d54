package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/mcp"
	"github.com/yurtrun/yurt/controller/sqlite"
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
	w := &world{node: nodetest.New()}
	store, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w.ctl, err = controller.New(controller.Config{
		Store: store, Placer: w.node.Placer(), Templates: nodetest.Templates(), Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.ctl.Run(ctx); err != nil {
			t.Error("running the controller:", err)
		}
	})
	t.Cleanup(func() {
		w.node.Release()
		stop()
		running.Wait()
		w.ctl.Close()
	})
	config := mcp.Config{Sessions: w.ctl, Executions: w.ctl, Files: w.ctl, Version: "1.2.3"}
	for _, change := range changes {
		change(&config)
	}
	if w.Server, err = mcp.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	for range 100 {
		if w.ctl.Ready(context.Background()) == nil {
			return w
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the controller does not get ready")
	return nil
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
