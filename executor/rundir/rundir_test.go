package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/records"
)

// dirs returns a base, and a state directory with its runtime directory there.
func dirs(t *testing.T) (base, state, runDir string) {
	t.Helper()
	base, state = t.TempDir(), t.TempDir()
	return base, state, filepath.Join(base, "yurt-0123456789ab")
}

// TestSocketsOfRuntimesAreSwept: the files of a killed executor are gone when the next one starts on its state directory.
func TestSocketsOfRuntimesAreSwept(t *testing.T) {
	_, state, dir := dirs(t)
	for range 2 {
		if err := Make(dir, state, "v1", os.Geteuid()); err != nil {
			t.Fatal(err)
		}
		sockets := filepath.Join(dir, Plugins)
		if left, err := os.ReadDir(sockets); err != nil || len(left) != 0 {
			t.Errorf("left are %v, %v", left, err)
		}
		if _, err := os.MkdirTemp(sockets, "plugin-dir"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRemoveAll: the target of the state directory's link is removed only if it has the name of a run directory.
func TestRemoveAll(t *testing.T) {
	base, state, dir := dirs(t)
	for range 2 { // the second time it does not exist, which is no error
		if err := RemoveAll(state, filepath.Base(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Make(dir, state, "v1", os.Geteuid()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, Sandboxes, "sbx_1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(state, "another"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("one of another name was removed: %v", err)
	}
	if err := RemoveAll(state, filepath.Base(dir)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestItIsOursAlone: where all users can write, another user may have made the directory first.
func TestItIsOursAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("gives a directory to another user, which needs root; run without -short")
	}
	for name, occupy := range map[string]func(dir, elsewhere string) error{
		"a file":                 func(dir, _ string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link":                 func(dir, elsewhere string) error { return os.Symlink(elsewhere, dir) },
		"open to others":         func(dir, _ string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750)) },
		"somebody else's":        func(dir, _ string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534)) },
		"a link that leads away": func(dir, elsewhere string) error { return os.Symlink(filepath.Join(elsewhere, "none"), dir) },
	} {
		_, state, dir := dirs(t)
		elsewhere := t.TempDir()
		if err := occupy(dir, elsewhere); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Make(dir, state, "v1", os.Geteuid()); yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 0 {
			t.Errorf("%s: %v was made elsewhere, %v", name, left, err)
		}
	}
}

// TestSocketsFit below it, and a path that is too long for them is refused.
func TestSocketsFit(t *testing.T) {
	for base, fits := range map[string]bool{"": true, "/dev/shm": true, "/run/" + strings.Repeat("x", 38): true, "/run/" + strings.Repeat("x", 39): false} {
		dir, err := Path(base, "yurt-0123456789ab")
		if fits && (err != nil || len(dir)+len("/")+len(Plugins)+maxPluginSocket > maxSocketPath) {
			t.Errorf("%q: %q, %v", base, dir, err)
		}
		if !fits && (yurt.CodeOf(err) != yurt.CodeInvalidArgument || !strings.Contains(err.Error(), base)) {
			t.Errorf("%q: %q, %v", base, dir, err)
		}
	}
}

// TestAnotherBase: an executor does not start where it would lose the records of sandboxes, and moves an empty directory.
func TestAnotherBase(t *testing.T) {
	first, state, dir := dirs(t)
	second := t.TempDir()
	if err := Make(dir, state, "v1", os.Geteuid()); err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(dir, Sandboxes, "sbx_1")
	if err := os.Mkdir(known, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Make(filepath.Join(second, filepath.Base(dir)), state, "v1", os.Geteuid()); yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "--run-dir "+first+",") {
		t.Errorf("with sandboxes in the first: %v", err)
	}
	if err := Make(dir, state, "v1", os.Geteuid()); err != nil {
		t.Errorf("the first again: %v", err)
	}
	if err := os.Remove(known); err != nil {
		t.Fatal(err)
	}
	if err := Make(filepath.Join(second, filepath.Base(dir)), state, "v1", os.Geteuid()); err != nil {
		t.Errorf("with no sandboxes in the first: %v", err)
	}
	if left, err := os.ReadDir(first); err != nil || len(left) != 0 {
		t.Errorf("in the first there are %v, %v", left, err)
	}
	if err := os.RemoveAll(filepath.Join(second, filepath.Base(dir))); err != nil { // as a reboot does
		t.Fatal(err)
	}
	if err := Make(dir, state, "v1", os.Geteuid()); err != nil {
		t.Errorf("after a reboot: %v", err)
	}
}

// TestExecutorsEnterAlone: an executor of its own user may enter the directory, which stays this process's.
func TestExecutorsEnterAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("gives a directory to another user, which needs root; run without -short")
	}
	_, state, dir := dirs(t)
	for _, user := range []int{os.Geteuid(), idrange.Executor, idrange.Executor} { // first that of an older version
		if err := Make(dir, state, "v1", user); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o710 || OwnerOf(info) != os.Geteuid() || !isClosed(info) {
		t.Errorf("it has mode %v, %v", info.Mode(), err)
	}
}

// TestNewerIsNotRemoved: a directory of a format that is not known stays as it is.
func TestNewerIsNotRemoved(t *testing.T) {
	_, state, dir := dirs(t)
	if err := Make(dir, state, "v1", os.Geteuid()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, records.FormatFile), []byte(`{"format":99,"yurt":"v9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, "v1"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("left are %v, %v", left, err)
	}
}
