//go:build long

package sdk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestPythonScenariosLong(t *testing.T) {
	interpreter, runner := installed(t), filepath.Join(python(t), "tests", "scenarios.py")
	t.Run("server", func(t *testing.T) { Scenarios(t, long, interpreter, runner) })
	t.Run("cluster", func(t *testing.T) { ClusterScenarios(t, interpreter, runner) })
}

// TestPythonVersions runs the scenarios with every other Python of the machine that the SDK is for, those of pyenv among them.
func TestPythonVersions(t *testing.T) {
	testutil.NeedsSandboxes(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, place := range []string{"/usr/bin", "/usr/local/bin", filepath.Join(home, ".pyenv", "versions", "3.*", "bin")} {
		some, err := filepath.Glob(filepath.Join(place, "python3.1[0-9]"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	if len(found) == 0 {
		t.Fatal("this machine has no Python that the SDK is for")
	}
	wheel := wheel(t)
	for _, program := range found {
		t.Run(filepath.Base(program), func(t *testing.T) {
			Scenarios(t, short, environment(t, t.TempDir(), program, wheel), filepath.Join(python(t), "tests", "scenarios.py"))
		})
	}
}

// TestPythonShows has the packages of the SDK's extras in the environment: pandas and LangChain.
func TestPythonShows(t *testing.T) {
	testutil.NeedsSandboxes(t)
	interpreter := environment(t, t.TempDir(), "python3", wheel(t))
	install(t, interpreter, "yurt-sandbox[dataframe,langchain]")
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	script := filepath.Join(python(t), "tests", "shows.py")
	if out := readme.Bash(t, t.TempDir(), interpreter+" "+script, "YURT_SERVER="+url); out != "all shown\n" {
		t.Errorf("the program printed %q, expected all to be shown", out)
	}
}

// Every snippet of the quick start runs as it is written: the shell's install the wheel into an empty
// environment, and those of Python run in it, each in a process of its own.
func TestPythonQuickStart(t *testing.T) {
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "yurt", "sdk", "python"), os.DirFS(python(t))); err != nil {
		t.Fatal(err)
	}
	env := []string{"YURT_SERVER=" + url, "PATH=" + filepath.Join(dir, "env", "bin") + ":" + os.Getenv("PATH")}
	for _, snippet := range snippets(t, "PYTHON.md", "sh|python", 7) {
		script := snippet[2]
		if snippet[1] == "python" {
			script = "cat > snippet.py <<'END'\n" + script + "END\npython3 snippet.py\n"
		}
		readme.Bash(t, dir, script, env...)
	}
	wantPlot(t, dir)
}
