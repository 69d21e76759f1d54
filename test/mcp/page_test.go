package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

const page = "docs/MCP.md"

// printed returns the configuration that the page has for a client.
func printed(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"mcp", "config"}, args...)...)
	cmd.Env = append(os.Environ(), "YURT_URL=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), program, "/usr/local/bin/yurt")
}

func TestPageHasConfigurations(t *testing.T) {
	program := testutil.BuildYurt(t, "yurt-mcp", "mcp")
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
	for _, name := range toolNames() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s says nothing of the tool %s", page, name)
		}
	}
}

// TestConfigurationWorks starts the command of a printed configuration, as a client does, and has a plot of it.
func TestConfigurationWorks(t *testing.T) {
	program := yurt(t)
	url, client := testutil.Serve(t, program)
	for _, args := range [][]string{{"cursor"}, {"claude-desktop", "--server", url}, {"vscode", "--server", url}} {
		t.Run(strings.Join(args[:1], " "), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, append([]string{"mcp", "config"}, args...)...)
			cmd.Env = append(os.Environ(), "YURT_URL=")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			plot(t, out)
		})
	}
	nothingLives(t, client)
}
