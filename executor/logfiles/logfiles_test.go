package logfiles_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/logfiles"
)

func options(base string, maxSize yurt.Size, maxFiles int) yurt.LogFiles {
	return yurt.LogFiles{Base: base, Dir: "alloc/logs", Stdout: "web.stdout", Stderr: "web.stderr", MaxFiles: maxFiles, MaxSize: maxSize}
}

func logDir(t *testing.T) (base, dir string) {
	base = t.TempDir()
	dir = filepath.Join(base, "alloc", "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return base, dir
}

func open(t *testing.T, journal string, o yurt.LogFiles) *logfiles.Writer {
	w, err := logfiles.Open(journal, o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSilence: the files are there before there is any output, and stay when it is another's turn.
func TestSilence(t *testing.T) {
	base, dir := logDir(t)
	for range 2 {
		w := open(t, filepath.Join(base, "journal"), options(base, yurt.MinLogSize, 5))
		for _, name := range []string{"web.stdout", "web.stderr"} {
			if text, sizes := whole(dir, name); text != "" || len(sizes) != 1 {
				t.Errorf("%s has %q in files of %d bytes", name, text, sizes)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// whole reads the files of a name in their order.
func whole(dir, name string) (text string, sizes []int) {
	for i := range 10_000 {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s.%d", name, i)))
		if err != nil {
			return text, sizes
		}
		text += string(data)
		sizes = append(sizes, len(data))
	}
	return text, sizes
}

// A writer that is killed at any moment, before or after any of its chunks was
// acknowledged, leaves files that hold all of the output once.
func TestNothingLostOrDoubled(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		base, dir := logDir(t)
		journal := filepath.Join(base, "journal")
		o := options(base, yurt.MinLogSize, 1000)
		var chunks [][]byte
		var want bytes.Buffer
		for i := range 200 {
			chunk := []byte(fmt.Sprintf("%d %s\n", i, strings.Repeat("x", random.IntN(700))))
			if random.IntN(10) == 0 { // no whole line
				chunk = bytes.Repeat([]byte("y"), 1+random.IntN(9000))
			}
			chunks = append(chunks, chunk)
			want.Write(chunk)
		}
		next := uint64(1)
		for next <= uint64(len(chunks)) {
			w := open(t, journal, o)
			at := w.After() + 1
			if at != next && at != next-1 {
				t.Fatalf("seed %d: asked for chunk %d after %d were written", seed, at, next-1)
			}
			if at < next && random.IntN(2) == 0 { // the sandbox had heard of it
				at = next
			}
			for range 1 + random.IntN(20) {
				if at > uint64(len(chunks)) {
					break
				}
				if err := w.Write(at, logfiles.Stdout, chunks[at-1]); err != nil {
					t.Fatal(err)
				}
				at++
			}
			next = at
			if random.IntN(3) == 0 { // killed in the middle of writing the last one
				damage(t, dir, random)
				next = at - 1
				w.Close()
				w = open(t, journal, o)
				if err := w.Write(next, logfiles.Stdout, chunks[next-1]); err != nil {
					t.Fatal(err)
				}
				next++
			}
			w.Close()
		}
		got, sizes := whole(dir, "web.stdout")
		if got != want.String() {
			t.Fatalf("seed %d: %d bytes in files of %v, want %d", seed, len(got), sizes, want.Len())
		}
		for _, size := range sizes {
			if size > yurt.MinLogSize {
				t.Fatalf("seed %d: files of %v, and %d is the most", seed, sizes, yurt.MinLogSize)
			}
		}
	}
}

// damage takes a part of the last chunk away, as if it had not been written yet.
func damage(t *testing.T, dir string, random *rand.Rand) {
	_, sizes := whole(dir, "web.stdout")
	if len(sizes) == 0 {
		return
	}
	last := filepath.Join(dir, fmt.Sprintf("web.stdout.%d", len(sizes)-1))
	data, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	start := bytes.LastIndexByte(data, '\n') + 1
	if start == len(data) || data[start] == 'y' { // which may be of several chunks
		return
	}
	if err := os.Truncate(last, int64(start+random.IntN(len(data)-start))); err != nil {
		t.Fatal(err)
	}
}

func TestRotation(t *testing.T) {
	base, dir := logDir(t)
	w := open(t, filepath.Join(base, "journal"), options(base, yurt.MinLogSize, 2))
	line := strings.Repeat("z", 999) + "\n"
	for seq := range uint64(20) {
		if err := w.Write(seq+1, logfiles.Stderr, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if err := os.Remove(filepath.Join(dir, "web.stdout.0")); err != nil { // the file is still empty
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v, want the last two files", entries, err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || len(data)%len(line) != 0 {
			t.Fatalf("%s has %d bytes (%v), want whole lines", e.Name(), len(data), err)
		}
	}
}

// A task that is started again goes on in the files of the one before.
func TestAnotherRunAppends(t *testing.T) {
	base, dir := logDir(t)
	for run := range 3 {
		w := open(t, filepath.Join(base, fmt.Sprint("journal", run)), options(base, yurt.MinLogSize, 5))
		if err := w.Write(1, logfiles.Stdout, []byte(fmt.Sprintf("run %d\n", run))); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	if got, _ := whole(dir, "web.stdout"); got != "run 0\nrun 1\nrun 2\n" {
		t.Fatalf("the files hold %q", got)
	}
}

// The directory's other owner may plant any file there: the log writes to no file outside it, and goes on.
func TestHostileDirectory(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, victim, path string) error{
		"link":      func(_ *testing.T, victim, path string) error { return os.Symlink(victim, path) },
		"pipe":      func(t *testing.T, _, path string) error { return mkfifo(t, path) },
		"socket":    func(t *testing.T, _, path string) error { return mksocket(t, path) },
		"dangling":  func(_ *testing.T, _, path string) error { return os.Symlink(filepath.Join(path, "none"), path) },
		"large":     func(_ *testing.T, _, path string) error { return os.WriteFile(path, make([]byte, 1<<20), 0o600) },
		"huge name": func(_ *testing.T, _, path string) error { return os.WriteFile(path+"99999999999999999999", nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			base, dir := logDir(t)
			victim := filepath.Join(base, "victim")
			if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := plant(t, victim, filepath.Join(dir, "web.stdout.0")); err != nil {
				t.Fatal(err)
			}
			w := open(t, filepath.Join(base, "journal"), options(base, yurt.MinLogSize, 5))
			defer w.Close()
			if err := w.Write(1, logfiles.Stdout, []byte("hello\n")); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" {
				t.Fatalf("the victim holds %q, %v", data, err)
			}
			found := false
			for i := range 2 {
				info, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("web.stdout.%d", i)))
				found = found || err == nil && info.Mode().IsRegular() && info.Size() == int64(len("hello\n"))
			}
			if !found {
				t.Fatal("the output is in neither of the first files")
			}
		})
	}
}

// A link on the way to the directory is not followed, and the output dropped.
func TestLinkedDirectory(t *testing.T) {
	base := t.TempDir()
	elsewhere := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "alloc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(base, "alloc", "logs")); err != nil {
		t.Fatal(err)
	}
	w := open(t, filepath.Join(base, "journal"), options(base, yurt.MinLogSize, 5))
	defer w.Close()
	if err := w.Write(1, logfiles.Stdout, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Fatalf("written through a link: %v, %v", entries, err)
	}
}

// Output that another writer keeps is not kept here a second time.
func TestSkip(t *testing.T) {
	base, _ := logDir(t)
	journal := filepath.Join(base, "journal")
	w := open(t, journal, options(base, yurt.MinLogSize, 5))
	if err := w.Write(1, logfiles.Stdout, []byte("a\n")); err != nil {
		t.Fatal(err)
	}
	if kept, err := w.Skip(2, 0); kept || err != nil {
		t.Fatalf("Skip = %v, %v", kept, err)
	}
	w.Close() // after it was kept
	w = open(t, journal, options(base, yurt.MinLogSize, 5))
	defer w.Close()
	if kept, err := w.Skip(2, 1); !kept || err != nil {
		t.Fatalf("Skip of the same = %v, %v, and it is kept already", kept, err)
	}
	if kept, err := w.Skip(3, 1); kept || err != nil {
		t.Fatalf("Skip of the next = %v, %v", kept, err)
	}
}
