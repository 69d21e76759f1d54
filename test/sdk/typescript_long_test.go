//go:build long

package sdk

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestTypescriptScenariosLong(t *testing.T) {
	runner := filepath.Join(installedTypescript(t), "scenarios.mjs")
	t.Run("server", func(t *testing.T) { Scenarios(t, long, node(t), runner) })
	t.Run("cluster", func(t *testing.T) { ClusterScenarios(t, node(t), runner) })
}

// TestTypescriptCommonJS runs the short scenarios with the package's form for CommonJS.
func TestTypescriptCommonJS(t *testing.T) {
	testutil.NeedsSandboxes(t)
	everyScenario(t, scenariosAs(t, "cjs", installedTypescript(t))...)
}

func TestGoScenariosLong(t *testing.T) {
	runner := goRunner(t)
	t.Run("server", func(t *testing.T) { Scenarios(t, long, runner) })
	t.Run("cluster", func(t *testing.T) { ClusterScenarios(t, runner) })
}

func wantPlot(t *testing.T, dir string) {
	t.Helper()
	plot, err := os.ReadFile(filepath.Join(dir, "plot.png"))
	if err != nil || !strings.HasPrefix(string(plot), "\x89PNG") {
		t.Errorf("the quick start left %.20q in plot.png, expected a picture (%v)", plot, err)
	}
}

// Every snippet of the quick start runs as it is written: the shell's install the package into an empty project, and
// the others run in it, each in a process of its own.
func TestTypescriptQuickStart(t *testing.T) {
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	dir := t.TempDir()
	run(t, dir, "mkdir", "-p", "yurt/sdk")
	source := copiedTypescript(t)
	run(t, dir, "cp", "-r", source, "yurt/sdk/typescript")
	run(t, dir, "rm", "yurt/sdk/typescript/node_modules")
	run(t, typescript(t), "cp", "package-lock.json", filepath.Join(dir, "yurt", "sdk", "typescript"))
	bin := t.TempDir() // npm by its name
	npm := "#!/bin/sh\nexec " + node(t) + " " + filepath.Join(testutil.Npm(t), "bin", "npm-cli.js") + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(npm), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"YURT_SERVER=" + url, "PATH=" + bin + ":" + filepath.Dir(node(t)) + ":" + os.Getenv("PATH")}
	for i, snippet := range snippets(t, "TYPESCRIPT.md", "sh|js", 6) {
		script := snippet[2]
		if snippet[1] == "js" {
			name := "snippet" + strconv.Itoa(i) + ".mjs"
			script = "cat > " + name + " <<'END'\n" + script + "END\nnode " + name + "\n"
		}
		readme.Bash(t, dir, script, env...)
	}
	wantPlot(t, dir)
}

// Every snippet of Go's quick start is a program in a module of its own, beside the source. The first is the module's main program,
// which the shell's snippets run.
func TestGoQuickStart(t *testing.T) {
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	dir := t.TempDir()
	if err := os.Symlink(testutil.Root(t), filepath.Join(dir, "yurt")); err != nil {
		t.Fatal(err)
	}
	programs := 0
	for i, snippet := range snippets(t, "GO.md", "sh|go", 5) {
		script := snippet[2]
		if snippet[1] == "go" {
			name, runs := "snippet"+strconv.Itoa(i), "go run ./snippet"+strconv.Itoa(i)+"\n"
			if programs++; programs == 1 {
				name, runs = ".", ""
			}
			script = "mkdir -p " + name + "\ncat > " + name + "/main.go <<'END'\n" + script + "END\n" + runs
		}
		readme.Bash(t, dir, strings.ReplaceAll(script, "http://127.0.0.1:8700", url), "YURT_SERVER="+url)
	}
	wantPlot(t, dir)
}
