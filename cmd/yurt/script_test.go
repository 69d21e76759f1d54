package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// binDir is where `make build` puts the binaries that the scripts run.
const binDir = "../../bin"

// TestMain builds the binaries, which takes no time when they are up to date.
func TestMain(m *testing.M) {
	flag.Parse()
	if out, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building what the scripts run: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestScripts runs the scripts that need no sandbox.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestSandboxScripts runs the scripts that make sandboxes.
func TestSandboxScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("makes sandboxes")
	}
	if os.Geteuid() != 0 {
		t.Fatal("these scripts make sandboxes, which needs root; run them as root, or run `make check` for what does not")
	}
	runScripts(t, "testdata/sandbox",
		"EXAMPLES", testutil.Build(t).ExampleDir,
		"LUA_SAMPLES", filepath.Join(testutil.Root(t), "plugins/examples/yurt-runtime-lua/testdata/samples"))
}

// runScripts runs the scripts in dir, with the variables: a name and a value each.
func runScripts(t *testing.T, dir string, variables ...string) {
	t.Helper()
	bin, err := filepath.Abs(binDir)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":/usr/bin:/bin")
			env.Setenv("BIN", bin)
			env.Setenv("YURT_STATE_DIR", filepath.Join(env.WorkDir, "state"))
			for i := 0; i < len(variables); i += 2 {
				env.Setenv(variables[i], variables[i+1])
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "server": server, "keep": keep},
	})
}

// exits runs a program and wants its exit code: exits 3 yurt run broken.py
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT]...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError) //nolint:errorlint // testscript does not wrap it
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("%s ended with exit code %d, want %s", args[1], code, args[0])
	}
}

// server starts a development server that ends with the script, and makes it the one
// that yurt uses, with more arguments if there are any: server [ARGUMENT]...
func server(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: server [ARGUMENT]...")
	}
	binary := filepath.Join(ts.Getenv("BIN"), "yurt")
	running, err := devserver.Run(context.Background(), binary, ts.Getenv("YURT_STATE_DIR"), append([]string{"dev", "--listen", "127.0.0.1:0"}, args...)...)
	ts.Check(err)
	ts.Defer(func() { ts.Check(running.Stop()) })
	ts.Setenv("YURT_SERVER", running.URL)
}

// keep puts the output of the last program, without its newline, into a variable:
// keep ID
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep VARIABLE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
