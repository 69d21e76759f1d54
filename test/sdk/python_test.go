package sdk

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// run runs a program and wants it to succeed.
func run(t testing.TB, dir string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// digest names the content of a file in a few letters.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// digestOf names the content of files of dir, and of all files in directories of dir, in a few letters.
func digestOf(t testing.TB, dir string, parts ...string) string {
	t.Helper()
	var all []byte
	files := os.DirFS(dir)
	for _, part := range parts {
		err := fs.WalkDir(files, part, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "__pycache__":
				return fs.SkipDir
			case entry.IsDir():
				return nil
			}
			data, err := fs.ReadFile(files, name)
			all = append(append(all, name+"\n"...), data...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return digest(all)
}

func python(t testing.TB) string { return filepath.Join(testutil.Root(t), "sdk", "python") }

// pythonTools returns an interpreter with the tools that build and check the SDK.
func pythonTools(t testing.TB) string {
	t.Helper()
	dir := testutil.Cached(t, "sdk-python-tools-1", func(dir string) {
		run(t, dir, "python3", "-m", "venv", dir)
		run(t, dir, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "build==1.6.1", "hatchling==1.33.0",
			"mypy==2.4.1", "pyright[nodejs]==1.1.414", "httpx==0.28.1", "msgspec==0.22.0", "websockets==17.4")
	})
	return filepath.Join(dir, "bin", "python3")
}

// installed returns the interpreter of an environment that has the wheel and its dependencies alone. It is kept for a source
// and a version of Python.
func installed(t testing.TB) string {
	t.Helper()
	source := digestOf(t, python(t), "pyproject.toml", "README.md", "src") + run(t, "", "python3", "--version")
	dir := testutil.Cached(t, "sdk-python-environment-"+digest([]byte(source)), func(dir string) { environment(t, dir, "python3", wheel(t)) })
	return filepath.Join(dir, "bin", "python3")
}

// wheel builds the wheel.
func wheel(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	copied := filepath.Join(dir, "source") // building leaves products beside the source
	if err := os.CopyFS(copied, os.DirFS(python(t))); err != nil {
		t.Fatal(err)
	}
	run(t, copied, pythonTools(t), "-m", "build", "--wheel", "--no-isolation", "--outdir", dir)
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("the build made the wheels %q, expected one (%v)", wheels, err)
	}
	return wheels[0]
}

// environment makes an environment of a Python with the wheel alone in dir, and returns its interpreter.
func environment(t testing.TB, dir, program, wheel string) string {
	t.Helper()
	run(t, dir, program, "-m", "venv", "--without-pip", dir)
	interpreter := filepath.Join(dir, "bin", "python3")
	install(t, interpreter, wheel)
	return interpreter
}

// install installs a package into the environment of an interpreter with the pip of the tools, as an environment's own takes
// seconds to come.
func install(t testing.TB, interpreter, name string) {
	t.Helper()
	run(t, t.TempDir(), pythonTools(t), "-m", "pip", "--python", interpreter, "install", "--quiet", name)
}

func TestPythonTypes(t *testing.T) {
	t.Parallel()
	tools := pythonTools(t)
	for _, check := range [][]string{
		{"mypy", "--strict", "--python-version", "3.10", "--cache-dir", t.TempDir(), "src/yurt"},
		{"pyright", "--pythonversion", "3.10", "--pythonpath", tools, "src/yurt"},
	} {
		run(t, python(t), append([]string{tools, "-m"}, check...)...)
	}
}

// The generated parts must be those that the generator makes of today's API and async source.
func TestPythonGenerated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(python(t))); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "sh", "-c", "python3 generate.py < "+document(t))
	for _, part := range []string{"models.py", "_sync"} {
		path := filepath.Join("src", "yurt", part)
		cmd := exec.CommandContext(t.Context(), "diff", "-ru", "--exclude=__pycache__", filepath.Join(python(t), path), filepath.Join(dir, path))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sdk/python/%s is stale, run make sdk-python:\n%.4000s", path, out)
		}
	}
}
