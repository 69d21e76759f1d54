package imagefiles_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/imagefiles"
)

// blobOf is the name of a blob of so many equal digits.
func blobOf(digit string) string { return strings.Repeat(digit, 64) }

// layoutIn makes a layout with a few blobs in the directory, one of them readable for its owner alone, and others that are no regular files.
func layoutIn(t *testing.T, dir string) {
	t.Helper()
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := errors.Join(
		os.MkdirAll(blobs, 0o700),
		os.WriteFile(filepath.Join(dir, "index.json"), []byte("index"), 0o600),
		os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(blobs, blobOf("a")), []byte("blob"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(blobs, blobOf("b"))),
		os.Symlink(blobOf("a"), filepath.Join(blobs, blobOf("c"))),
		unix.Mkfifo(filepath.Join(blobs, blobOf("d")), 0o600),
		os.Mkdir(filepath.Join(blobs, blobOf("e")), 0o700),
	); err != nil {
		t.Fatal(err)
	}
}

// TestLayoutsThatTheOperatorNames opens files of layouts by their names, and no others.
func TestLayoutsThatTheOperatorNames(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	allowed, other := filepath.Join(root, "allowed"), filepath.Join(root, "allowed-not")
	layoutIn(t, filepath.Join(allowed, "deep", "one"))
	layoutIn(t, other)
	linked := filepath.Join(allowed, "linked")
	if err := errors.Join(
		os.Symlink("deep/one", filepath.Join(allowed, "current")), os.Symlink(other, filepath.Join(allowed, "out")),
		os.MkdirAll(linked, 0o700), os.Symlink(filepath.Join(other, "blobs"), filepath.Join(linked, "blobs")), os.Symlink("/etc/passwd", filepath.Join(linked, "index.json")),
	); err != nil {
		t.Fatal(err)
	}
	files := imagefiles.Files{Layouts: []string{allowed}}
	for name, tt := range map[string]struct {
		dir, blob string
		want      string
		code      yurt.Code
	}{
		"an index":                     {allowed + "/deep/one", "", "index", ""},
		"a blob":                       {allowed + "/deep/one", blobOf("a"), "blob", ""},
		"a link to the layout":         {allowed + "/current", blobOf("a"), "blob", ""},
		"no blob of that name":         {allowed + "/deep/one", blobOf("0"), "", yurt.CodeInternal},
		"another file":                 {allowed + "/deep/one", "../../secret", "", yurt.CodeInvalidArgument},
		"a blob that is a link out":    {allowed + "/deep/one", blobOf("b"), "", yurt.CodeInternal},
		"a blob that is a link":        {allowed + "/deep/one", blobOf("c"), "", yurt.CodeInternal},
		"a blob that is a pipe":        {allowed + "/deep/one", blobOf("d"), "", yurt.CodeArchiveInvalid},
		"a blob that is a directory":   {allowed + "/deep/one", blobOf("e"), "", yurt.CodeArchiveInvalid},
		"blobs that are elsewhere":     {linked, blobOf("a"), "", yurt.CodeInternal},
		"an index that is elsewhere":   {linked, "", "", yurt.CodeInternal},
		"a directory beside":           {other, "", "", yurt.CodeForbidden},
		"a link out":                   {allowed + "/out", "", "", yurt.CodeForbidden},
		"a way up":                     {allowed + "/../allowed-not", "", "", yurt.CodeInvalidArgument},
		"no path":                      {"deep/one", "", "", yurt.CodeInvalidArgument},
		"a directory that is missing":  {allowed + "/none", "", "", yurt.CodeInvalidArgument},
		"a missing one beside":         {root + "/none", "", "", yurt.CodeForbidden},
		"a directory without an index": {allowed, "", "", yurt.CodeInternal},
	} {
		file, err := files.OpenLayout(tt.dir, tt.blob)
		if err != nil {
			if yurt.CodeOf(err) != tt.code {
				t.Errorf("%s: %v, %q; want %q", name, err, yurt.CodeOf(err), tt.code)
			}
			continue
		}
		data, err := io.ReadAll(file)
		file.Close()
		if err != nil || string(data) != tt.want || tt.code != "" {
			t.Errorf("%s: it holds %q, %v; want %q", name, data, err, tt.want)
		}
	}
	if _, err := files.OpenLayout(allowed, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an index: %v; want that it is missing", err)
	}
	if real, err := files.FindLayout(allowed + "/current"); err != nil || real != allowed+"/deep/one" {
		t.Errorf("the link leads to %q, %v", real, err)
	}
}

// TestCredentialsThatTheOperatorNames opens the file of the configuration, anew each time.
func TestCredentialsThatTheOperatorNames(t *testing.T) {
	if _, err := (imagefiles.Files{}).OpenCredentials(); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Errorf("without a file: %v", err)
	}
	files := imagefiles.Files{Credentials: filepath.Join(t.TempDir(), "config.json")}
	if _, err := files.OpenCredentials(); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("with a missing file: %v", err)
	}
	if err := os.WriteFile(files.Credentials, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := files.OpenCredentials()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if data, err := io.ReadAll(file); err != nil || string(data) != "{}" {
		t.Errorf("it holds %q, %v", data, err)
	}
}
