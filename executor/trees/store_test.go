package trees

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

func digest(letter string) string { return strings.Repeat(letter, 64) }

// add makes a tree of one file of so many bytes.
func add(s *Store, digest string, size int) error {
	return s.Make(digest, func(dir string) (Made, error) {
		return Made{Bytes: int64(size), Entries: 1}, os.WriteFile(filepath.Join(dir, Dir, "file"), make([]byte, size), 0o600)
	})
}

func open(t *testing.T, dir string, limit int64) *Store {
	t.Helper()
	s, err := Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func use(t *testing.T, s *Store, digest, user string, want bool) {
	t.Helper()
	there, err := s.Use(digest, user)
	if err != nil || there != want {
		t.Errorf("tree %.1s is there: %v, %v; want %v", digest, there, err, want)
	}
}

func TestAddAndUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	use(t, s, digest("a"), "me", false)
	if err := add(s, digest("a"), 10); err != nil {
		t.Fatal(err)
	}
	use(t, s, digest("a"), "me", true)
	if err := add(s, digest("a"), 20); err != nil { // another caller was faster
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(s.Tree(digest("a")), "file")); err != nil || info.Size() != 10 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestFacts are kept with a tree, and those that an earlier version kept beside it are found.
func TestFacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	if err := s.Make(digest("a"), func(string) (Made, error) { return Made{Facts: map[string]int{"one": 1}}, nil }); err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(dir, digest("b"))
	if err := errors.Join(
		os.MkdirAll(filepath.Join(older, Dir), 0o755), os.WriteFile(filepath.Join(older, metaFile), []byte(`{"version":1,"bytes":7,"entries":1}`), 0o600),
		os.WriteFile(filepath.Join(older, olderFacts), []byte(`{"one":2}`), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if err := add(s, digest("c"), 1); err != nil {
		t.Fatal(err)
	}
	for letter, want := range map[string]int{"a": 1, "b": 2} {
		use(t, s, digest(letter), "me", true)
		var facts map[string]int
		if err := s.Facts(digest(letter), &facts); err != nil || facts["one"] != want {
			t.Errorf("the facts of tree %s are %v, %v; want %d", letter, facts, err, want)
		}
	}
	if err := s.Facts(digest("c"), new(map[string]int)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a tree without facts: %v", err)
	}
	huge := strings.Repeat("x", maxMeta)
	if err := s.Make(digest("d"), func(string) (Made, error) { return Made{Facts: huge}, nil }); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("facts that are too large: %v", err)
	}
	newer := filepath.Join(dir, digest("a"), metaFile)
	if err := os.WriteFile(newer, []byte(`{"version":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	use(t, open(t, dir, 1<<20), digest("a"), "me", false)
}

// TestMakeRoom keeps trees in use, by this store or another, and those that were used last.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := open(t, dir, 100), open(t, dir, 100)
	for i, letter := range []string{"a", "b", "c"} {
		if err := add(s, digest(letter), 30); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, digest(letter), metaFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	use(t, other, digest("a"), "sandbox", true)
	if err := add(s, digest("d"), 30); err != nil {
		t.Fatal(err)
	}
	for letter, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		use(t, s, digest(letter), "look", want)
	}
	s.Release("look")
	other.Release("sandbox")
	if err := add(s, digest("e"), 90); err != nil {
		t.Fatal(err)
	}
	for _, letter := range []string{"a", "c", "d"} {
		use(t, s, digest(letter), "look", false)
	}
	use(t, s, digest("e"), "look", true)
}

// TestHalfMade finds the files of a process that was killed.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{newPrefix + "x", oldPrefix + "y"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, Dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, digest("a"), Dir), 0o700); err != nil { // no record in it
		t.Fatal(err)
	}
	s := open(t, dir, 100)
	use(t, s, digest("a"), "me", false)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := add(s, digest("a"), 1); err != nil {
		t.Error(err)
	}
	use(t, s, digest("a"), "me", true)
	if err := add(s, "../x", 1); yurt.CodeOf(err) != yurt.CodeInternal {
		t.Errorf("error %v", err)
	}
}
