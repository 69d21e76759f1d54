package tools_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/tools"
)

// TestFind looks in this process's root for programs, for links to them, and for missing ones.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"program": 0o755, "text": 0o644, "second": 0o755} {
		if err := os.WriteFile(at(name), []byte("#!"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "program", "loop": "loop", "dangling": "nothing"} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{at("nothing"), at("program/below"), at("loop"), at("dangling"), at("text"), dir, at("program"), at("second")}, at("program")},
		{[]string{at("link")}, at("link")},
		{[]string{at("text")}, ""},
		{nil, ""},
	} {
		wanted := []yurt.Tool{{Name: "it", Paths: c.paths}}
		found, missing, err := tools.Find(root(t), wanted)
		if err != nil || found["it"] != c.want || (missing != nil) != (c.want == "") {
			t.Errorf("%q: %v, missing %v, %v", c.paths, found, missing, err)
		}
		wanted[0].Optional = true
		if found, missing, err := tools.Find(root(t), wanted); err != nil || missing != nil || found["it"] != c.want {
			t.Errorf("optional, %q: %v, missing %v, %v", c.paths, found, missing, err)
		}
	}
}

// root opens the root directory of this process.
func root(t *testing.T) *os.File {
	t.Helper()
	root, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// TestStamps: another installation at the same path is another.
func TestStamps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tool")
	stamps := func() []string {
		stamps, err := tools.Stamps(root(t), map[string]string{"tool": path})
		if err != nil {
			t.Fatal(err)
		}
		return stamps
	}
	if err := os.WriteFile(path, []byte("1"), 0o755); err != nil {
		t.Fatal(err)
	}
	first := stamps()
	if again := stamps(); !slices.Equal(first, again) {
		t.Errorf("it is %q, and then %q", first, again)
	}
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(first, stamps()) {
		t.Error("another time is no difference")
	}
	if _, err := tools.Stamps(root(t), map[string]string{"tool": path + "x"}); err == nil {
		t.Error("one that is not there has a stamp")
	}
}
