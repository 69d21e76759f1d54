package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/controller/mcp"
	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

const page = "docs/MCP.md"

// printed returns the configuration that the page has for a client.
func printed(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"mcp", "config"}, args...)...)
	cmd.Env = append(os.Environ(), "YURT_SERVER=", "YURT_URL=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), program, "/usr/local/bin/yurt")
}

func TestPageHasConfigurations(t *testing.T) {
	program := testutil.BuildYurt(t, "yurt", "test")
	for _, client := range []string{"claude-desktop", "claude-code", "vscode", "cursor"} {
		if got, want := printed(t, program, client), readme.BlockOf(t, page, "json "+client, "yurt"); got != want {
			t.Errorf("yurt mcp config %s prints\n%s\nand the page has\n%s", client, got, want)
		}
	}
	if got, want := printed(t, program, "claude-code", "--server", "http://127.0.0.1:8700/"), readme.BlockOf(t, page, "json claude-code http", "url"); got != want {
		t.Errorf("with a server it prints\n%s\nand the page has\n%s", got, want)
	}
	t.Setenv("YURT_API_KEY", "yurt_secret")
	if got, want := printed(t, program, "claude-code", "--server", "http://127.0.0.1:8700"), readme.BlockOf(t, page, "json claude-code key", "url"); got != want {
		t.Errorf("with a server that asks for keys it prints\n%s\nand the page has\n%s", got, want)
	}
}

func TestPageNamesTools(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mcp.ToolNames() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s says nothing of the tool %s", page, name)
		}
	}
}

// TestConfigurationWorks has the stock clients take the printed configuration of each program that agents live in, as that program
// does, and has a plot by each.
func TestConfigurationWorks(t *testing.T) {
	t.Parallel()
	program := yurt(t)
	url, client := testutil.Serve(t, program)
	interpreter, modules := filepath.Join(pythonPackages(t), "bin", "python3"), typescriptPackages(t)
	for _, args := range [][]string{
		{"claude-code"},
		{"cursor"},
		{"claude-desktop", "--server", url},
		{"claude-code", "--server", url},
		{"vscode", "--server", url},
		{"cursor", "--server", url},
	} {
		t.Run(strings.Join(args[:len(args)/2+1], " "), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, append([]string{"mcp", "config"}, args...)...)
			cmd.Env = append(os.Environ(), "YURT_SERVER=", "YURT_URL=")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "configuration.json")
			if err := os.WriteFile(file, out, 0o600); err != nil {
				t.Fatal(err)
			}
			by := []string{interpreter, source(t, "plot.py")}
			if len(args) == 1 && args[0] == "cursor" || len(args) > 1 && args[0] == "vscode" {
				by = []string{"node", source(t, "plot.mjs")}
			}
			drive(t, modules, []string{"YURT_SERVER=", "YURT_URL=", "TMPDIR=" + t.TempDir()}, "sh", "-c", `exec "$1" "$2" <"$3"`, "sh", by[0], by[1], file)
		})
	}
	nothingLives(t, client)
}
