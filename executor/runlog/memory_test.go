package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// sizes returns how large the two files of a log are, -1 for one that is not there.
func sizes(t *testing.T, place Place) (memory, disk int64) {
	t.Helper()
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return -1
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	return size(place.Path), size(place.Overflow)
}

// TestOverflow: a log goes on on disk when it is large, and when the memory for logs is
// used up or zero, and its readers cannot tell.
func TestOverflow(t *testing.T) {
	entry := Entry{Stdout, time.Unix(1, 0), bytes.Repeat([]byte("x"), 1000)}
	length := int64(entryHeader + len(entry.Data))
	for name, tt := range map[string]struct {
		memory int64
		full   bool  // the file system
		want   int64 // entries in memory, at most
	}{
		"large":        {1 << 30, false, maxInMemory / length},
		"little left":  {3*filePage + fileCost, false, 3 * filePage / length},
		"nothing left": {0, false, 0},
		"full":         {1 << 30, true, 8 * filePage / length},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.full {
				fill(t, dir)
			}
			memory := NewMemory(tt.memory)
			place := Place{Path: filepath.Join(dir, "log"), Overflow: filepath.Join(t.TempDir(), "a", "b", "log"), Memory: memory}
			l, err := Create(place)
			if err != nil {
				t.Fatal(err)
			}
			var want []Entry
			for range 200 {
				add(t, l, entry)
				want = append(want, entry)
			}
			inMemory, onDisk := sizes(t, place)
			if split := l.split; split > tt.want*length || split != min(inMemory, split) || onDisk != 200*length-split || !tt.full && split < tt.want*length {
				t.Errorf("%d bytes are in memory, %d of them read, and %d on disk; want %d", inMemory, split, onDisk, tt.want*length)
			}
			check := func() {
				t.Helper()
				if seen, _ := follow(done(), l); diff(want, seen) != "" {
					t.Errorf("it reads otherwise than it was written: %d entries of %d", len(seen), len(want))
				}
			}
			check()
			if err := l.Close(); err != nil || memory.left.Load() != tt.memory {
				t.Errorf("closed: %v, %d bytes of memory are there of %d", err, memory.left.Load(), tt.memory)
			}
			if l, err = Open(place, func(Entry) {}); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			add(t, l, entry)
			want = append(want, entry)
			check()
			if err := Remove(place); err != nil {
				t.Error(err)
			}
			if inMemory, onDisk := sizes(t, place); inMemory != -1 || onDisk != -1 {
				t.Errorf("removed, it has %d and %d bytes", inMemory, onDisk)
			}
		})
	}
}

// fill mounts a small file system in memory on the directory.
func fill(t *testing.T, dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("mounts a file system, which needs root; run without -short")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", 8*filePage)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestKilledBeforeTheFirstEntryOnDisk: the file on disk is there, and empty.
func TestKilledBeforeTheFirstEntryOnDisk(t *testing.T) {
	l, path := create(t)
	add(t, l, story()[:3]...)
	place := Place{Path: path, Overflow: path + "-disk", Memory: NewMemory(0)}
	if err := os.WriteFile(place.Overflow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(place, func(Entry) {})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	add(t, again, story()[3:]...)
	if seen, err := follow(t.Context(), again); err != nil || diff(story(), seen) != "" {
		t.Errorf("%v\n%s", err, diff(story(), seen))
	}
}

func TestLogProperty(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		memory := NewMemory(rapid.Int64Range(0, 4*filePage).Draw(rt, "memory"))
		limit := memory.left.Load()
		place := Place{Path: filepath.Join(dir, fmt.Sprint(n)), Overflow: filepath.Join(dir, "disk", fmt.Sprint(n)), Memory: memory}
		l, err := Create(place)
		if err != nil {
			rt.Fatal(err)
		}
		var want []Entry
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				e := Entry{
					Kind: rapid.SampledFrom([]Kind{Started, Stdout, Stderr, Control}).Draw(rt, "kind"),
					At:   time.Unix(0, rapid.Int64().Draw(rt, "at")),
					Data: bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(rt, "data"), rapid.SampledFrom([]int{1, 1, 100}).Draw(rt, "times")),
				}
				add(t, l, e)
				want = append(want, e)
			},
			"reopen": func(rt *rapid.T) {
				l.Close()
				if l, err = Open(place, func(Entry) {}); err != nil {
					rt.Fatal(err)
				}
			},
			"crash": func(rt *rapid.T) { // in the middle of a write
				l.Close()
				path := place.Path
				if _, err := os.Stat(place.Overflow); err == nil {
					path = place.Overflow
				}
				file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					rt.Fatal(err)
				}
				file.Write([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xffx")[:rapid.IntRange(1, 13).Draw(rt, "written")])
				file.Close()
				if l, err = Open(place, func(Entry) {}); err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				seen, _ := follow(done(), l)
				if d := diff(want, seen); d != "" {
					rt.Fatal(d)
				}
			},
		})
		l.Close()
		if left := memory.left.Load(); left != limit {
			rt.Fatalf("%d bytes of memory are there of %d", left, limit)
		}
		if err := Remove(place); err != nil {
			rt.Fatal(err)
		}
	})
	for _, place := range []string{dir, filepath.Join(dir, "disk")} {
		if left, err := filepath.Glob(filepath.Join(place, "[0-9]*")); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	}
}

// FuzzOpen opens files with any bytes: the entries that are read were in them, the cost is in
// proportion to them, and the log can be written to again.
func FuzzOpen(f *testing.F) {
	l, path := create(f)
	add(f, l, story()...)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, []byte{})
	f.Add(whole[:len(whole)-1], []byte{})
	f.Add(whole[:len(whole)/2], whole[len(whole)/2:])
	f.Add(whole, whole)
	f.Add(append(bytes.Clone(whole), "garbage"...), []byte("garbage"))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"), []byte{})
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00"), []byte{}) // 128 MiB, the bound
	f.Add([]byte("\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), []byte{})
	f.Add([]byte{}, []byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data, rest []byte) {
		place := writeLog(t, dir, data, rest)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var entries []Entry
		total := 0
		l, err := Open(place, func(e Entry) {
			entries = append(entries, e)
			total += entryHeader + len(e.Data)
		})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if total > len(data)+len(rest) {
			t.Fatalf("%d bytes came out of %d", total, len(data)+len(rest))
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > uint64(1<<20+100*(len(data)+len(rest))) {
			t.Fatalf("opening %d bytes took %d bytes of memory", len(data)+len(rest), cost)
		}
		more := Entry{Ended, time.Unix(1, 2), []byte("more")}
		if err := l.Append(more); err != nil {
			t.Fatal(err)
		}
		seen, err := follow(t.Context(), l)
		if d := diff(append(entries, more), withoutOutput(seen)); err != nil || d != "" {
			t.Fatalf("%v\n%s", err, d)
		}
	})
}

// writeLog writes the files of a log.
func writeLog(t *testing.T, dir string, data, rest []byte) Place {
	t.Helper()
	file, err := os.CreateTemp(dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	file.Write(data)
	file.Close()
	place := Place{Path: file.Name(), Overflow: file.Name() + "-disk"}
	if len(rest) > 0 {
		if err := os.WriteFile(place.Overflow, rest, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { Remove(place) })
	return place
}
