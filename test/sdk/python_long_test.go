//go:build long

package sdk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/rig"
)

func TestPythonScenariosLong(t *testing.T) {
	Scenarios(t, true, installed(t), filepath.Join(python(t), "tests", "scenarios.py"))
}

// Every snippet of the quick start runs as it is written: the shell's install the wheel into an empty
// environment, and those of Python run in it, each in a process of its own.
func TestPythonQuickStart(t *testing.T) {
	rig.NeedsSandboxes(t)
	page, err := os.ReadFile(filepath.Join(rig.Root(t), "docs", "PYTHON.md"))
	if err != nil {
		t.Fatal(err)
	}
	url, _ := rig.Serve(t, rig.BuildYurt(t, "yurt-sdk", "sdk"))
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "sdk", "python"), os.DirFS(python(t))); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "python3", "-m", "venv", "env")
	env := []string{"YURT_URL=" + url, "PATH=" + filepath.Join(dir, "env", "bin") + ":" + os.Getenv("PATH")}
	snippets := regexp.MustCompile("(?s)```(sh|python)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(snippets) < 7 {
		t.Fatalf("docs/PYTHON.md has %d snippets, expected 7 or more", len(snippets))
	}
	for _, snippet := range snippets {
		script := snippet[2]
		if snippet[1] == "python" {
			script = "cat > snippet.py <<'END'\n" + script + "END\npython3 snippet.py\n"
		}
		readme.Bash(t, dir, script, env...)
	}
	plot, err := os.ReadFile(filepath.Join(dir, "plot.png"))
	if err != nil || !strings.HasPrefix(string(plot), "\x89PNG") {
		t.Errorf("the quick start left %.20q in plot.png, expected a picture (%v)", plot, err)
	}
}
