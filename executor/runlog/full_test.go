package runlog_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/test/smalldisk"
)

// onFullDisk makes a log with its first entry on a file system that is full from then on.
func onFullDisk(t *testing.T) *runlog.Log {
	t.Helper()
	disk := smalldisk.InMemory(t, 256<<10, "")
	dir := disk.Dir
	place := runlog.Place{Path: filepath.Join(dir, "log"), Overflow: filepath.Join(dir, "rest", "log"), Memory: runlog.NewMemory(1 << 20)}
	log, err := runlog.Create(place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	begun := runlog.Entry{Kind: runlog.Started, At: time.Now(), Data: make([]byte, 4096)} // the next entry needs another page
	if err := log.Append(begun); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	second, err := runlog.Create(runlog.Place{Path: filepath.Join(dir, "second")})
	if err == nil {
		defer second.Close()
		err = second.Append(begun)
	}
	if !headroom.IsFull(err) {
		t.Fatalf("an execution began on a full disk: %v", err)
	}
	return log
}

// entries appends the entries, and returns those that readers find.
func entries(t *testing.T, log *runlog.Log, list ...runlog.Entry) (found []string) {
	t.Helper()
	buf := make([]byte, 8)
	for _, e := range list {
		e.Data = append(buf[:0], e.Data...) // used again, as that of chunks
		if err := log.Append(e); err != nil {
			t.Fatalf("entry of kind %d: %v", e.Kind, err)
		}
	}
	err := log.Follow(t.Context(), func(e runlog.Entry) error {
		if e.Kind != runlog.Started {
			found = append(found, fmt.Sprintf("%d %.8s", e.Kind, e.Data))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// TestLogOnAFullDisk: the output is cut, and the end is there.
func TestLogOnAFullDisk(t *testing.T) {
	log := onFullDisk(t)
	page := make([]byte, 4096)
	if err := log.Append(runlog.Entry{Kind: runlog.Stdout, Data: page}); err != nil {
		t.Fatal(err)
	}
	got := entries(t, log,
		runlog.Entry{Kind: runlog.Stdout, Data: []byte("late")}, runlog.Entry{Kind: runlog.Stderr, Data: []byte("late")},
		runlog.Entry{Kind: runlog.Control, Data: []byte("a value")}, runlog.Entry{Kind: runlog.Ended, Data: []byte("result")})
	if want := []string{"4 a value", "5 result"}; !slices.Equal(got, want) {
		t.Errorf("readers find %q, want %q", got, want)
	}
	if !log.Cut(runlog.Stdout) || !log.Cut(runlog.Stderr) || log.Cut(runlog.Control) {
		t.Error("which streams were cut is not known")
	}
}

// TestLogInMemoryKeepsItsOrder: output that comes after an entry which has to be kept is kept too, within bounds.
func TestLogInMemoryKeepsItsOrder(t *testing.T) {
	log := onFullDisk(t)
	if err := log.Append(runlog.Entry{Kind: runlog.Position, Data: make([]byte, 4096)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := log.Append(runlog.Entry{Kind: runlog.Stderr, Data: make([]byte, 600<<10)}); err != nil {
			t.Fatal(err)
		}
	}
	got := entries(t, log, runlog.Entry{Kind: runlog.Stdout, Data: []byte("out")}, runlog.Entry{Kind: runlog.Stderr, Data: []byte("err")},
		runlog.Entry{Kind: runlog.Ended, Data: []byte("result")})
	if len(got) != 4 || got[2] != "2 out" || got[3] != "5 result" {
		t.Errorf("readers find %q, want a position, the first of stderr, the end of stdout and the result", got)
	}
	if log.Cut(runlog.Stdout) || !log.Cut(runlog.Stderr) {
		t.Error("which streams were cut is not known")
	}
}
