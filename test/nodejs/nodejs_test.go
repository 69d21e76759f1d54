package nodejs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/nodejs"
)

// TestRunFetchesNpm: where the machine has a Node and no npm, as Debian's, npm is fetched.
func TestRunFetchesNpm(t *testing.T) {
	node, err := nodejs.Node(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bin, project, cache := t.TempDir(), t.TempDir(), t.TempDir()
	for name, program := range map[string]string{"node": node, "sh": "/bin/sh"} { // npm's scripts run in a shell
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", cache)
	if err := os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"scripts": {"told": "node -e 'fs.writeFileSync(\"told\", \"\")'"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := nodejs.Run(t.Context(), project, "run", "told"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(project, "told")); err != nil {
		t.Errorf("npm has not run the script: %v", err)
	}
}
