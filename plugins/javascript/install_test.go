package javascript_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

// TestInstallFindsHeaders has the installation tell node-gyp where Node's headers are, by the place
// of Node itself, or leave that out where the headers are missing. In the place of npm is a program
// that prints its environment.
func TestInstallFindsHeaders(t *testing.T) {
	t.Parallel()
	prefix, dir := t.TempDir(), t.TempDir()
	node, link, header := filepath.Join(prefix, "bin", "node"), filepath.Join(dir, "node"), filepath.Join(prefix, "include", "node", "node.h")
	for _, name := range []string{node, header} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(node, link); err != nil {
		t.Fatal(err)
	}
	npm := filepath.Join(dir, "npm")
	if err := os.WriteFile(npm, []byte("#!/bin/sh\necho \"$1\"; env\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plan, err := javascript.Runtime{}.PlanDependencies(t.Context(), plugins.DependencyRequest{
		Requirements: []string{"a"}, Dir: dir, Tools: map[string]string{"node": link, "npm": npm},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range plan.Files {
		if err := os.WriteFile(filepath.Join(dir, file.Path), file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	told := "npm_package_config_node_gyp_nodedir=" + prefix
	for _, want := range []bool{true, false} {
		cmd := exec.CommandContext(t.Context(), plan.Argv[0], plan.Argv[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		lines := strings.Split(string(out), "\n")
		if err != nil || lines[0] != "install" || slices.Contains(lines, told) != want {
			t.Errorf("with headers %t: %v, %s", want, err, out)
		}
		if err := os.RemoveAll(header); err != nil {
			t.Fatal(err)
		}
	}
}
