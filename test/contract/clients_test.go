package contract_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

const (
	python = "/usr/bin/python3"

	// The generators of clients, and the packages that their clients and the compiler need.
	pythonGenerator = "openapi-python-client==0.29.1"
	typeGenerator   = "openapi-typescript@7.10.1"
	typeClient      = "openapi-fetch@0.15.0"
	typeCompiler    = "typescript@5.9.3"
)

// run runs a program in a directory, and fails the test when it fails.
func run(t *testing.T, dir string, env []string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// venv returns a virtual environment of Python's with a package, made once.
func venv(t *testing.T, pinned string) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output()
	if err != nil {
		t.Fatalf("asking %s for its version: %v", python, err)
	}
	name := filepath.Join("contract", strings.ReplaceAll(pinned, "==", "-")+"-python"+strings.TrimSpace(string(version)))
	return testutil.Cached(t, name, func(dir string) {
		run(t, dir, nil, python, "-m", "venv", dir)
		run(t, dir, nil, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir", pinned)
	})
}

// served returns where a real server listens, and a directory with its document.
func served(t *testing.T) (url, dir string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	url, _ = testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	dir = t.TempDir()
	run(t, dir, nil, "curl", "--silent", "--fail", "--output", "openapi.json", url+"/openapi.json")
	return url, dir
}

// TestPythonClient generates a client in Python from the document, and drives a session with it.
func TestPythonClient(t *testing.T) {
	tools := filepath.Join(venv(t, pythonGenerator), "bin")
	url, dir := served(t)
	run(t, dir, nil, filepath.Join(tools, "python"), "-m", "openapi_python_client", "generate",
		"--path", "openapi.json", "--meta", "none", "--output-path", "yurt_client")
	drive, err := filepath.Abs("testdata/drive.py")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, []string{"PYTHONPATH=" + dir}, filepath.Join(tools, "python"), drive, url)
}

// TestTypeScriptClient generates types from the document, has the compiler check a program that
// drives a session by them, and runs it.
func TestTypeScriptClient(t *testing.T) {
	name := filepath.Join("contract", strings.NewReplacer("@", "-").Replace(typeGenerator+"-"+typeClient+"-"+typeCompiler))
	packages := testutil.Cached(t, name, func(dir string) {
		run(t, dir, nil, "node", filepath.Join(testutil.Npm(t), "bin", "npm-cli.js"), "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir,
			typeGenerator, typeClient, typeCompiler)
	})
	modules := filepath.Join(packages, "node_modules")
	url, dir := served(t)
	program, err := os.ReadFile("testdata/drive.mts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "drive.mts"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	run(t, dir, nil, "node", filepath.Join(modules, "openapi-typescript", "bin", "cli.js"), "openapi.json", "-o", "api.ts")
	run(t, dir, nil, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "drive.mts")
	run(t, dir, nil, "node", "drive.mjs", url)
}
