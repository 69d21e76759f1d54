package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestReadSourceOfAnotherEncoding: code that a request cannot hold is refused here, where the
// file and the line are known.
func TestReadSourceOfAnotherEncoding(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "latin1.py")
	if err := os.WriteFile(file, []byte("# grüße\n\ncaf\xe9 = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&App{}).ReadSource(file, "")
	if yurt.CodeOf(err) != yurt.CodeFileNotFound || !strings.Contains(err.Error(), "latin1.py") || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("it is refused with %v", err)
	}
}

func TestReadSource(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files []string
		entry string // that is given
		want  string
		code  yurt.Code
	}{
		"main":            {[]string{"lib.py", "main.py"}, "", "main.py", ""},
		"in src":          {[]string{"Cargo.toml", "src/main.rs"}, "", "src/main.rs", ""},
		"index":           {[]string{"index.js", "lib/main.js"}, "", "index.js", ""},
		"named":           {[]string{"a.py", "main.py"}, "./a.py", "a.py", ""},
		"hidden":          {[]string{".git/main.py", "main.py", ".main.sh"}, "", "main.py", ""},
		"several":         {[]string{"main.py", "main.js"}, "", "", yurt.CodeInvalidArgument},
		"none":            {[]string{"a.py"}, "", "", yurt.CodeInvalidArgument},
		"named, not one":  {[]string{"main.py"}, "b.py", "", yurt.CodeFileNotFound},
		"named, outside":  {[]string{"main.py"}, "../main.py", "", yurt.CodeFileNotFound},
		"not a directory": {nil, "main.py", "", yurt.CodeInvalidArgument},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range tt.files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("text of "+file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.files == nil {
				dir = filepath.Join(dir, "file")
			}
			got, err := (&App{}).ReadSource(dir, tt.entry)
			if yurt.CodeOf(err) != tt.code || got.Entry != tt.want {
				t.Fatalf("entry %q, %v; want %q, %s", got.Entry, err, tt.want, tt.code)
			}
			if err == nil && got.Text() != "text of "+tt.want {
				t.Errorf("its text is %q", got.Text())
			}
		})
	}
}
