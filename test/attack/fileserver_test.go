package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestTakenOverFileServerReachesNothing has hostile code run in the place of yurt-files, with the directories of two sandboxes. It finds no file, no
// process and no network beside them.
func TestTakenOverFileServerReachesNothing(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.FilesPath = buildHostileFiles(t)
	e := testutil.Start(t, config)
	canary := plantCanaries(t)
	out, err := exec.CommandContext(t.Context(), config.FilesPath, canary).Output()
	if got := strings.TrimSpace(string(out)); err != nil || !strings.HasPrefix(got, "/root /var/tmp") {
		t.Fatalf("root finds canaries in %q, %v; so the test shows less than it says", got, err)
	}
	testutil.Create(t, e)
	s := testutil.Create(t, e)
	_, err = e.StatFile(t.Context(), s.ID, canary)
	if err == nil {
		t.Fatal("hostile code has answered as yurt-files does")
	}
	said, done, _ := strings.Cut(err.Error(), ": ")
	if !strings.HasPrefix(said, "tried ") || done != "" {
		t.Errorf("code that runs as yurt-files: %v; want that each attempt fails", err)
	}
}

// buildHostileFiles builds the program, which all users may execute.
func buildHostileFiles(t *testing.T) string {
	t.Helper()
	path := filepath.Join(testutil.Build(t).Dir, "hostile-files")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "./test/attack/hostilefiles")
	cmd.Dir = testutil.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building hostile code: %v\n%s", err, out)
	}
	return path
}

// plantCanaries puts a file of one name into directories of the host: one of root's, and one that all users read.
func plantCanaries(t *testing.T) (name string) {
	t.Helper()
	file, err := os.CreateTemp("/root", "yurt-canary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file.Name()) })
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	name = filepath.Base(file.Name())
	open := filepath.Join("/var/tmp", name)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(open) })
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
