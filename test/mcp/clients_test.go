package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

const (
	pythonClient     = "mcp==2.3.0"
	typescriptClient = "@modelcontextprotocol/sdk@1.32.2"
	conversations    = "20" // at once
)

// yurt returns the path of a built yurt, with its helpers beside it.
func yurt(t *testing.T) string {
	t.Helper()
	testutil.NeedsSandboxes(t)
	return testutil.BuildYurt(t, "yurt", "test")
}

// drive runs a program that drives a server and wants it to end well.
func drive(t *testing.T, dir string, env []string, program ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Fatalf("%v: %v\n%s", program, err, out)
	}
	return string(out)
}

func source(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(testutil.Root(t), "test", "mcp", "clients", name)
}

// nothingLives wants all sandboxes of a server to have ended.
func nothingLives(t *testing.T, client *yurtclient.Client) {
	t.Helper()
	page, err := client.Sessions(t.Context(), yurtclient.SessionFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range page.Sessions {
		if !session.State.Ended() {
			t.Errorf("session %s is still %s: %v", session.ID, session.State, session.Metadata)
		}
	}
}

// pythonPackages returns an environment of Python with the stock client.
func pythonPackages(t *testing.T) string {
	t.Helper()
	return testutil.Cached(t, "mcp-python-"+strings.TrimPrefix(pythonClient, "mcp=="), func(dir string) {
		for _, command := range [][]string{{"python3", "-m", "venv", dir}, {filepath.Join(dir, "bin", "python3"), "-m", "pip", "install", "--quiet", pythonClient}} {
			if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", command, err, out)
			}
		}
	})
}

// typescriptPackages returns a directory with the stock client of TypeScript.
func typescriptPackages(t *testing.T) string {
	t.Helper()
	return testutil.Cached(t, "mcp-typescript-1.32.2", func(dir string) { npm(t, dir, typescriptClient) })
}

func TestPythonClient(t *testing.T) {
	t.Parallel()
	program := yurt(t)
	interpreter, script := filepath.Join(pythonPackages(t), "bin", "python3"), source(t, "client.py")
	url, client := testutil.Serve(t, program)
	for _, mode := range []struct{ name, revision string }{{"auto", "2026-07-28"}, {"legacy", "2025-11-25"}} {
		t.Run("HTTP "+mode.revision, func(t *testing.T) {
			if out := drive(t, "", nil, interpreter, script, url, mode.name, conversations); !strings.Contains(out, "revision "+mode.revision) {
				t.Errorf("the client says %q, expected revision %s", out, mode.revision)
			}
			nothingLives(t, client)
		})
	}
	t.Run("stdio for a server", func(t *testing.T) {
		drive(t, "", []string{"YURT_SERVER=" + url}, interpreter, script, program, "auto", "2")
		nothingLives(t, client)
	})
	t.Run("stdio alone", func(t *testing.T) {
		temp := t.TempDir()
		drive(t, "", []string{"TMPDIR=" + temp, "YURT_SERVER=", "YURT_URL="}, interpreter, script, program, "legacy", "2")
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("the directory for temporary files holds %v (%v), expected that all is removed", left, err)
		}
	})
}

func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	program := yurt(t)
	dir := typescriptPackages(t)
	script := source(t, "client.mjs")
	url, client := testutil.Serve(t, program)
	t.Run("HTTP", func(t *testing.T) {
		drive(t, dir, nil, "node", script, url, conversations)
		nothingLives(t, client)
	})
	t.Run("stdio", func(t *testing.T) {
		drive(t, dir, []string{"TMPDIR=" + t.TempDir(), "YURT_SERVER=", "YURT_URL="}, "node", script, program, "1")
	})
}

// TestConformanceOfYurt runs those scenarios against a real server that need no tools of the suite's.
func TestConformanceOfYurt(t *testing.T) {
	t.Parallel()
	url, _ := testutil.Serve(t, yurt(t))
	suite := installSuite(t, suiteNow)
	for revision, scenarios := range map[string][]string{
		"2025-11-25": {"server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"},
		"2026-07-28": {"tools-list", "caching", "sep-2164-resource-not-found", "dns-rebinding-protection", "http-header-validation"},
	} {
		for _, scenario := range scenarios {
			t.Run(revision+" "+scenario, func(t *testing.T) {
				t.Parallel()
				said, found := suite.run(t, url+"/mcp", "--scenario", scenario, "--spec-version", revision)
				if got := found[scenario]; got.passed == 0 || got.failed > 0 {
					t.Errorf("%d checks passed and %d failed, expected all to pass\n%s", got.passed, got.failed, said)
				}
			})
		}
	}
}
