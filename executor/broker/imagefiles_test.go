package broker_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/imagefiles"
)

// TestImageFilesOfTheOperator: the broker opens layouts and credentials that its own configuration names, and its refusals and the lack of
// a file arrive as such.
func TestImageFilesOfTheOperator(t *testing.T) { onBoth(t, testImageFilesOfTheOperator) }

func testImageFilesOfTheOperator(t *testing.T, b subject, _ *cgroup.Manager) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.local.Files = imagefiles.Files{Layouts: []string{dir}, Credentials: filepath.Join(dir, "auth")}
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "index.json"), []byte("index"), 0o600), os.WriteFile(filepath.Join(dir, "auth"), []byte("auths"), 0o600),
		os.Symlink(".", filepath.Join(dir, "link")),
	); err != nil {
		t.Fatal(err)
	}
	if found, err := b.FindLayout(filepath.Join(dir, "link")); err != nil || found != dir {
		t.Errorf("it found %q, %v; want %q", found, err, dir)
	}
	if _, err := b.FindLayout("/etc"); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("another directory: %v", err)
	}
	if _, err := b.OpenLayout(dir, strings.Repeat("0", 64)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing blob: %v", err)
	}
	if _, err := b.OpenLayout(dir, "auth"); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("a file by its name: %v", err)
	}
	index, failed := b.OpenLayout(dir, "")
	auth, err := b.OpenCredentials()
	if err = errors.Join(failed, err); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[*os.File]string{index: "index", auth: "auths"} {
		data, err := io.ReadAll(file)
		file.Close()
		if err != nil || string(data) != want {
			t.Errorf("it holds %q, %v; want %q", data, err, want)
		}
	}
}
