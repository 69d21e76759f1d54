package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// mcpClient is a program that agents live in, and how it is told of MCP servers.
type mcpClient struct {
	name, title string
	member      string // of its configuration that holds the servers
	typed       bool   // a server has a type
	byURL       bool   // it can be told the address of a server
	key         string // how its configuration names the API key, which it never holds
	file        string // where the configuration belongs
}

const vscodeInput = "yurt-api-key" // VS Code asks for it, and keeps it

func mcpClients() []mcpClient {
	return []mcpClient{
		{
			name: "claude-desktop", title: "Claude Desktop", member: "mcpServers", key: "THE KEY",
			file: "claude_desktop_config.json, which Settings > Developer > Edit Config opens",
		},
		{
			name: "claude-code", title: "Claude Code", member: "mcpServers", typed: true, byURL: true, key: "${YURT_API_KEY}",
			file: ".mcp.json in the directory of your project",
		},
		{
			name: "vscode", title: "VS Code", member: "servers", typed: true, byURL: true, key: "${input:" + vscodeInput + "}",
			file: ".vscode/mcp.json in your workspace",
		},
		{
			name: "cursor", title: "Cursor", member: "mcpServers", byURL: true, key: "${env:YURT_API_KEY}",
			file: "~/.cursor/mcp.json, or .cursor/mcp.json in your project",
		},
	}
}

func newMCPConfigCommand(a *app) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "config CLIENT",
		Short: "Print the JSON that adds Yurt to an agent's program",
		Long: `Print the JSON that adds Yurt to an agent's program: claude-desktop, claude-code, vscode or cursor.

Without --server the program starts yurt mcp, which runs the sandboxes itself. With it the
sandboxes are those of that server. If YURT_API_KEY is set then, the JSON says where the program
finds the key; it does not hold the key itself.`,
		Example: "  yurt mcp config claude-code > .mcp.json\n  yurt mcp config cursor --server http://127.0.0.1:8700",
		Args:    arguments.Between(1, 1, "the name of a client: "+strings.Join(mcpClientNames(), ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.printMCPConfig(args[0], cmp.Or(server, a.ServerFromEnv()))
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return mcpClientNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the server that has the sandboxes; also in YURT_SERVER (default: the one that yurt mcp runs itself)")
	return cmd
}

func mcpClientNames() []string {
	var names []string
	for _, client := range mcpClients() {
		names = append(names, client.name)
	}
	return names
}

func (a *app) printMCPConfig(name, server string) error {
	at := slices.IndexFunc(mcpClients(), func(c mcpClient) bool { return c.name == name })
	if at < 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "CLIENT", "%.64q is no client that is known; give one of %s", name, strings.Join(mcpClientNames(), ", "))
	}
	if server != "" {
		if _, err := yurtclient.New(server); err != nil { // before an agent's program fails by it
			return err
		}
	}
	client := mcpClients()[at]
	keyed := server != "" && a.Env("YURT_API_KEY", "") != ""
	entry, err := client.entry(server, keyed)
	if err != nil {
		return err
	}
	members := map[string]any{client.member: map[string]any{"yurt": entry}}
	if keyed && client.name == "vscode" {
		members["inputs"] = []map[string]any{{"type": "promptString", "id": vscodeInput, "description": "API key of Yurt", "password": true}}
	}
	if err := a.PrintJSON(members); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "For %s: put it into %s.\n", client.title, client.file)
	if server == "" && os.Geteuid() != 0 {
		fmt.Fprintln(a.Stderr, "Sandboxes are set up by root. If that program does not run as root, start yurt dev as root, and print this with --server http://127.0.0.1:8700.")
	}
	if keyed && !client.byURL {
		fmt.Fprintf(a.Stderr, "Write the API key in place of %s.\n", client.key)
	}
	return nil
}

// mcpEntry is one server of a configuration.
type mcpEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

func (c mcpClient) entry(server string, keyed bool) (mcpEntry, error) {
	server = strings.TrimRight(server, "/")
	if server != "" && c.byURL {
		entry := mcpEntry{URL: server + "/mcp"}
		if c.typed {
			entry.Type = "http"
		}
		if keyed {
			entry.Headers = map[string]string{"Authorization": "Bearer " + c.key}
		}
		return entry, nil
	}
	self, err := os.Executable()
	if err != nil {
		return mcpEntry{}, yurt.Errorf(yurt.CodeInternal, "finding the path of yurt: %w", err)
	}
	entry := mcpEntry{Command: self, Args: []string{"mcp"}}
	if c.typed {
		entry.Type = "stdio"
	}
	if server != "" {
		entry.Env = map[string]string{"YURT_SERVER": server}
		if keyed {
			entry.Env["YURT_API_KEY"] = c.key
		}
	}
	return entry, nil
}
