package main

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// mcpRunCode is a cell of Python by the tool of an MCP client, beside the same by the REST API of the
// same server.
func mcpRunCode(p *place) ([]contender, error) {
	rest, url, err := restServerAt(p)
	if err != nil {
		return nil, err
	}
	session, err := restSessionAt(p, rest, "python-basic")
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	connection, err := client.Connect(p.ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}, nil)
	if err != nil {
		return nil, fmt.Errorf("connecting to the MCP server: %w", err)
	}
	p.cleanup(connection.Close)
	call := &mcp.CallToolParams{Name: "run_code", Arguments: map[string]any{"sandbox_id": session, "code": "6 * 7"}}
	return []contender{
		{name: "yurt", do: func() error {
			done, err := connection.CallTool(p.ctx, call)
			if err != nil {
				return fmt.Errorf("calling the tool: %w", err)
			}
			if out, _ := done.StructuredContent.(map[string]any); out["text"] != "42" {
				return fmt.Errorf("the cell said %v", done.StructuredContent)
			}
			return nil
		}},
		{name: "REST", do: func() error {
			done, err := rest.Execute(p.ctx, session, yurtclient.ExecuteRequest{Language: "python", Code: "6 * 7"})
			if err == nil && string(done.Result.Result) != "42" {
				err = errors.New("the cell said something else than 42")
			}
			return err
		}},
	}, nil
}
