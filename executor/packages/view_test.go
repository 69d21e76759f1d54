package packages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layer makes a tree of files; a path that ends in " -> x" is a link.
func layer(t *testing.T, name string, paths ...string) Shown {
	t.Helper()
	tree := t.TempDir()
	for _, p := range paths {
		p, target, isLink := strings.Cut(p, " -> ")
		full := filepath.Join(tree, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if isLink {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Shown{Tree: tree, Mount: "/" + name}
}

// shown writes the view of the layers, the latest first, and lists its links.
func shown(t *testing.T, dir string, layers ...Shown) []string {
	t.Helper()
	view, err := NewView(layers)
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Write(dir); err != nil {
		t.Fatal(err)
	}
	var list []string
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type()&os.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			name, _ := filepath.Rel(dir, path)
			list = append(list, name+" "+target)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// TestView: each package is that of the latest layer which has it, and directories that packages
// share have the parts of all.
func TestView(t *testing.T) {
	first := layer(t, "1", "num/__init__.py", "num-1.0.dist-info/METADATA", "google/a/__init__.py", "bin/num", "bin/old", "gone/__init__.py", "__pycache__/x.pyc")
	second := layer(t, "2", "num/__init__.py", "num-2.0.dist-info/METADATA", "google/b/__init__.py", "bin/num", "num.libs/x.so", "__pycache__/y.pyc")
	dir := t.TempDir()
	if got, want := shown(t, dir, first), []string{"__pycache__ /1/__pycache__", "bin/num /1/bin/num", "bin/old /1/bin/old", "gone /1/gone", "google /1/google", "num /1/num", "num-1.0.dist-info /1/num-1.0.dist-info"}; !slices.Equal(got, want) {
		t.Errorf("one layer shows %q, want %q", got, want)
	}
	want := []string{
		"__pycache__/x.pyc /1/__pycache__/x.pyc", "__pycache__/y.pyc /2/__pycache__/y.pyc", "bin/num /2/bin/num", "bin/old /1/bin/old", "gone /1/gone",
		"google/a /1/google/a", "google/b /2/google/b", "num /2/num", "num-2.0.dist-info /2/num-2.0.dist-info", "num.libs /2/num.libs",
	}
	if got := shown(t, dir, second, first); !slices.Equal(got, want) {
		t.Errorf("two layers show\n%q, want\n%q", got, want)
	}
	if got := shown(t, dir, first); len(got) != 7 || slices.Contains(got, "num /2/num") {
		t.Errorf("after the second is gone it shows %q", got)
	}
}

func TestViewOfNode(t *testing.T) {
	first := layer(t, "1", "node_modules/ms/index.js", "node_modules/@a/x/index.js", "node_modules/.bin/x", "package.json")
	second := layer(t, "2", "node_modules/ms/index.js", "node_modules/@a/y/index.js", "node_modules/.bin/y")
	want := []string{
		"node_modules/.bin/x /1/node_modules/.bin/x", "node_modules/.bin/y /2/node_modules/.bin/y", "node_modules/@a/x /1/node_modules/@a/x",
		"node_modules/@a/y /2/node_modules/@a/y", "node_modules/ms /2/node_modules/ms", "package.json /1/package.json",
	}
	if got := shown(t, t.TempDir(), second, first); !slices.Equal(got, want) {
		t.Errorf("it shows\n%q, want\n%q", got, want)
	}
}

// TestViewOfHostileLayers: links in a layer are shown as they are, and no file behind them is read.
func TestViewOfHostileLayers(t *testing.T) {
	host := t.TempDir()
	for _, name := range []string{"secret/x", "bin/y"} {
		if err := os.MkdirAll(filepath.Join(host, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bad := layer(t, "bad", "ns -> "+host, "bin -> "+host+"/bin", "up -> ../../..", "package.json -> /etc/passwd")
	good := layer(t, "good", "ns/secret/a.py", "bin/tool")
	for _, order := range [][]Shown{{bad, good}, {good, bad}} {
		for _, entry := range shown(t, t.TempDir(), order...) {
			if strings.Contains(entry, "secret/x") || strings.Contains(entry, "bin/y") || !strings.Contains(entry, " /bad/") && !strings.Contains(entry, " /good/") {
				t.Errorf("the view has %q", entry)
			}
		}
	}
	if modules, err := Modules(bad.Tree); err == nil {
		t.Errorf("the manifest that is a link out of the layer has %v, want an error", modules)
	}
}

func TestDists(t *testing.T) {
	l := layer(t, "1", "A_b.c-1.0+x.dist-info/METADATA", "x-1.dist-info", "-1.dist-info/M", "bad name-1.dist-info/M", "y-.dist-info/M")
	got, err := Dists(l.Tree)
	if err != nil || len(got) != 1 || got["a-b-c"] != "1.0+x" {
		t.Errorf("%v, %v; want a-b-c in version 1.0+x alone", got, err)
	}
}
