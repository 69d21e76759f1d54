package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestMigrationPage makes the requests of docs/MIGRATION.md to a server that has the settings of the older
// runtime.
func TestMigrationPage(t *testing.T) {
	program := yurt(t)
	t.Setenv("SANDBOX_ALLOW_NETWORK", "false")
	t.Setenv("SANDBOX_POOL_SIZE", "1")
	t.Setenv("SANDBOX_CPU_QUOTA", "0.5")
	url, client := testutil.Serve(t, program)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.md"), []byte("a note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := readme.BlockOf(t, "docs/MIGRATION.md", "sh", "SE=http://127.0.0.1:8700/workspace/se")
	out := readme.Bash(t, dir, strings.ReplaceAll(script, "http://127.0.0.1:8700", url))
	for _, want := range []string{
		`"session_id":"my_session","status":"active"`, `"stdout":"42\n"`, `"result":{"body":"World"}`, `"path":"/workspace/files/note.md","size":7`,
		`"name":"note.txt"`, "hello\n", "Session closed successfully",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the requests answer\n%s\nexpected %s in it", out, want)
		}
	}
	page, err := client.Sessions(t.Context(), yurtclient.SessionFilter{AgentID: "se:my_session"})
	if err != nil || len(page.Sessions) != 1 {
		t.Fatalf("there are the sessions %v (%v), expected one", page.Sessions, err)
	}
	if session := page.Sessions[0]; session.Resources.CPU != 2 || !session.State.Ended() {
		t.Errorf("the session has %v cores and is %s, expected those of the request, and that it has ended", session.Resources.CPU, session.State)
	}
	testutil.Eventually(t, "there is a warm sandbox of the template default", func() bool {
		pool, err := client.Pool(t.Context(), "default")
		return err == nil && pool.Min == 1
	})
	nothingLives(t, client)
}
