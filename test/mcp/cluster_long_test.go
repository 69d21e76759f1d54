//go:build long

package mcp_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// TestControllerOfCluster drives the MCP server of a controller on Nomad with the stock client, as that of "yurt dev" is
// driven, and has a second controller with fewer tools and limits for each client.
func TestControllerOfCluster(t *testing.T) {
	cluster := yurtcluster.Test(t, yurtcluster.Options{})
	client, err := yurtclient.New(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	interpreter, script := filepath.Join(pythonPackages(t), "bin", "python3"), source(t, "client.py")
	for _, mode := range []struct{ name, revision string }{{"auto", "2026-07-28"}, {"legacy", "2025-11-25"}} {
		t.Run(mode.revision, func(t *testing.T) {
			if out := drive(t, "", nil, interpreter, script, cluster.URL(), mode.name, conversations); !strings.Contains(out, "revision "+mode.revision) {
				t.Errorf("the client says %q, expected revision %s", out, mode.revision)
			}
			nothingLives(t, client)
		})
	}
	t.Run("tools and limits", func(t *testing.T) {
		second, err := cluster.StartController(context.WithoutCancel(t.Context()), "--mcp-tools", "run_code,terminate_sandbox", "--mcp-client-sandboxes", "1")
		if err != nil {
			t.Fatal(err)
		}
		limitedClient(t, second.URL)
	})
}

// limitedClient wants a server to have two tools, and to give a client one sandbox.
func limitedClient(t *testing.T, url string) {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "limited", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := []string{"run_code", "terminate_sandbox"}; !slices.Equal(names, want) {
		t.Errorf("the server has the tools %q, expected %q", names, want)
	}
	run := func(tool string, arguments map[string]any) *sdk.CallToolResult {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := run("run_code", map[string]any{"code": "6 * 7"})
	out, _ := first.StructuredContent.(map[string]any)
	if out["text"] != "42" {
		t.Fatalf("the code said %+v, expected 42", first.StructuredContent)
	}
	if second := run("run_code", map[string]any{"code": "1"}); !second.IsError {
		t.Errorf("a second sandbox was made: %+v, expected a refusal", second.StructuredContent)
	}
	if ended := run("terminate_sandbox", map[string]any{"sandbox_id": out["sandbox_id"]}); ended.IsError {
		t.Errorf("ending the sandbox: %+v", ended.Content)
	}
	if again := run("run_code", map[string]any{"code": "1"}); again.IsError {
		t.Errorf("after the end of the first no sandbox is made: %+v", again.Content)
	}
}
