package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/inotify"
)

// watching watches a directory until the test ends.
func (a *arena) watching(t *testing.T, dir string, deep bool) (<-chan yurt.FileEvent, <-chan error) {
	t.Helper()
	events, ended, ready := make(chan yurt.FileEvent, 10_000), make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- a.Watch(ctx, a.shared, dir, deep, func() { close(ready) }, func(e yurt.FileEvent) error {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("watching %s: %v", dir, err)
	}
	return events, ended
}

// expect waits for an event, passing over others.
func expect(t *testing.T, events <-chan yurt.FileEvent, kind yurt.FileEventType, name string) {
	t.Helper()
	seen := []yurt.FileEvent{}
	for deadline := time.After(time.Minute); ; {
		select {
		case e := <-events:
			if e.Type == kind && e.Path == name {
				return
			}
			seen = append(seen, e)
		case <-deadline:
			t.Fatalf("no %s of %s came, but %+v", kind, name, seen)
		}
	}
}

func TestWatch(t *testing.T) {
	a := newArena(t)
	a.fill(t, "d/sub/", "d/old")
	events, ended := a.watching(t, "d", true)
	os.WriteFile(a.in+"/d/new", []byte("x"), 0o644)
	expect(t, events, yurt.FileCreated, "d/new")
	expect(t, events, yurt.FileWritten, "d/new")
	os.Chmod(a.in+"/d/new", 0o600)
	expect(t, events, yurt.FileChmod, "d/new")
	os.Rename(a.in+"/d/new", a.in+"/d/sub/moved")
	expect(t, events, yurt.FileRenamed, "d/new")
	expect(t, events, yurt.FileCreated, "d/sub/moved")
	os.Remove(a.in + "/d/sub/moved")
	expect(t, events, yurt.FileRemoved, "d/sub/moved")
	// Files that are made in a new directory before it is watched are reported as well.
	a.fill(t, "d/one/two/three/f")
	expect(t, events, yurt.FileCreated, "d/one/two/three/f")
	os.WriteFile(a.in+"/d/one/two/three/g", nil, 0o644)
	expect(t, events, yurt.FileCreated, "d/one/two/three/g")
	// A directory that moves has its new name, and its old one no longer.
	os.Rename(a.in+"/d/one", a.in+"/d/eins")
	expect(t, events, yurt.FileRenamed, "d/one")
	expect(t, events, yurt.FileCreated, "d/eins")
	os.WriteFile(a.in+"/d/eins/two/h", nil, 0o644)
	expect(t, events, yurt.FileCreated, "d/eins/two/h")
	os.Rename(a.in+"/d/eins", a.in+"/away")
	expect(t, events, yurt.FileRenamed, "d/eins")
	os.WriteFile(a.in+"/away/two/i", nil, 0o644)
	os.WriteFile(a.in+"/d/last", nil, 0o644)
	expect(t, events, yurt.FileCreated, "d/last")
	// The end of the directory is the end of the watch.
	if err := a.RemoveAll("d"); err != nil {
		t.Fatal(err)
	}
	expect(t, events, yurt.FileRemoved, "d")
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	for len(events) > 0 {
		if e := <-events; strings.HasPrefix(e.Path, "away") {
			t.Errorf("it told of %+v", e)
		}
	}
}

func TestWatchEnds(t *testing.T) {
	a := newArena(t)
	a.fill(t, "d/f")
	enough := errors.New("enough")
	ready := make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- a.Watch(t.Context(), a.shared, "d", false, func() { close(ready) }, func(yurt.FileEvent) error { return enough })
	}()
	<-ready
	os.WriteFile(a.in+"/d/new", nil, 0o644)
	if err := <-ended; !errors.Is(err, enough) {
		t.Errorf("whoever had enough was answered %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := a.Watch(ctx, a.shared, "d", false, cancel, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("whoever left was answered %v", err)
	}
	// With the sandbox it ends well.
	if err := a.Watch(t.Context(), a.shared, ".", true, func() { a.Close() }, nil); err != nil {
		t.Errorf("when the sandbox ended it was answered %v", err)
	}
}

func TestWatchStaysInside(t *testing.T) {
	a := newArena(t)
	a.play(t)
	for name, want := range map[string]yurt.Code{
		"abs": yurt.CodePathOutsideWorkspace, "rel": yurt.CodePathOutsideWorkspace, "../out": yurt.CodePathOutsideWorkspace,
		"none": yurt.CodeFileNotFound, "dir/f": yurt.CodeNotAFile, "fifo": yurt.CodeNotAFile, "self": yurt.CodeInvalidPath,
	} {
		if err := a.Watch(t.Context(), a.shared, name, true, func() { t.Errorf("%s is watched", name) }, nil); yurt.CodeOf(err) != want {
			t.Errorf("watching %s: %v", name, err)
		}
	}
	events, _ := a.watching(t, ".", true)
	canary := filepath.Join(a.out, "canary")
	os.Chmod(canary, 0o644)
	os.Chmod(canary, 0o666)
	// A directory that is a link by the time it is looked at is not watched.
	for n := range 200 {
		dir := fmt.Sprintf("%s/swap%d", a.in, n)
		os.Mkdir(dir, 0o777)
		os.Remove(dir)
		os.Symlink(a.out, dir)
	}
	a.fill(t, "end")
	os.Chmod(canary, 0o644)
	os.Chmod(canary, 0o666)
	os.WriteFile(a.in+"/dir/over", nil, 0o644)
	for {
		e := <-events
		if strings.Contains(e.Path, "canary") {
			t.Fatalf("it told of what is outside: %+v", e)
		}
		if e.Path == "dir/over" {
			return
		}
	}
}

func TestWatchIsBounded(t *testing.T) {
	a := newArena(t)
	for n := range yurt.MaxWatchDirs {
		if err := errors.Join(os.Mkdir(fmt.Sprintf("%s/%d", a.in, n), 0o755), os.Chown(fmt.Sprintf("%s/%d", a.in, n), testUser, testUser)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Watch(t.Context(), a.shared, ".", true, func() { t.Error("it is watched") }, nil); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("one directory too many: %v", err)
	}
	os.Remove(a.in + "/0")
	events, _ := a.watching(t, ".", true)
	a.fill(t, "one-more/f")
	expect(t, events, yurt.FileEventLost, "one-more")
	// A flood is reported as such, or whole, and the watch goes on.
	for n := range 3000 {
		os.WriteFile(fmt.Sprintf("%s/flood%d", a.in, n%100), []byte("x"), 0o644)
	}
	os.WriteFile(a.in+"/after", nil, 0o644)
	for deadline := time.After(time.Minute); ; {
		select {
		case e := <-events:
			if e.Type == yurt.FileEventLost || e.Path == "after" {
				return
			}
		case <-deadline:
			t.Fatal("nothing came after the flood")
		}
	}
}

// TestWatchOfWhatIsSaved: a file that is saved through the API appears once, under its own name; the user's own files
// with similar names are reported.
func TestWatchOfWhatIsSaved(t *testing.T) {
	a := newArena(t)
	a.fill(t, "d/")
	events, _ := a.watching(t, ".", true)
	for _, content := range []string{"first", "second"} {
		if _, err := a.Write("d/saved", strings.NewReader(content), 100, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Write("d/cut", strings.NewReader("too long"), 3, 0); yurt.CodeOf(err) != yurt.CodeFileTooLarge {
		t.Fatalf("a file beyond the limit: %v", err)
	}
	os.WriteFile(a.in+"/.yurt-last", nil, 0o600)
	var seen []string
	for e := range events {
		seen = append(seen, string(e.Type)+" "+e.Path)
		if e.Path == ".yurt-last" {
			break
		}
	}
	if want := []string{"create d/saved", "create d/saved", "create .yurt-last"}; !slices.Equal(seen, want) {
		t.Errorf("events %q, want %q", seen, want)
	}
}

// instances counts the inotify instances of this process.
func instances(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

// TestWatchesShareAnInstance: the host has 128 instances for its root, which sandboxes and other services need too.
func TestWatchesShareAnInstance(t *testing.T) {
	const watches = 200
	a := newArena(t)
	a.fill(t, "same/")
	type watcher struct {
		events <-chan yurt.FileEvent
		ended  <-chan error
		dir    string
	}
	var all []watcher
	for n := range watches {
		dir := "same"
		if n%2 == 0 {
			dir = fmt.Sprintf("own%d", n)
			a.fill(t, dir+"/")
		}
		events, ended := a.watching(t, dir, false)
		all = append(all, watcher{events, ended, dir})
	}
	if n := instances(t); n != 1 {
		t.Errorf("%d watches take %d inotify instances, want 1", watches, n)
	}
	// The end of one is not the end of others, of the same directory too.
	ctx, cancel := context.WithCancel(t.Context())
	if err := a.Watch(ctx, a.shared, "same", false, cancel, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	a.fill(t, "same/f")
	for n := range watches {
		if n%2 == 0 {
			a.fill(t, all[n].dir+"/f")
		}
	}
	for _, w := range all {
		expect(t, w.events, yurt.FileCreated, w.dir+"/f")
	}
	if err := a.RemoveAll("own0"); err != nil {
		t.Fatal(err)
	}
	if err := <-all[0].ended; err != nil {
		t.Errorf("the watch of a directory that was removed ended with %v", err)
	}
	a.fill(t, "same/g")
	expect(t, all[1].events, yurt.FileCreated, "same/g")
}

// TestSlowWatcher: a watcher that does not take its events loses some and hears of it; one beside it gets its own.
func TestSlowWatcher(t *testing.T) {
	a := newArena(t)
	a.fill(t, "slow/", "fast/")
	ready, stuck, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	lost := make(chan yurt.FileEvent, 1)
	enough := errors.New("enough")
	ended := make(chan error, 1)
	go func() {
		first := true
		ended <- a.Watch(t.Context(), a.shared, "slow", false, func() { close(ready) }, func(e yurt.FileEvent) error {
			if first {
				first = false
				close(stuck)
				<-goOn
			}
			if e.Type == yurt.FileEventLost {
				lost <- e
				return enough
			}
			return nil
		})
	}()
	<-ready
	a.fill(t, "slow/f")
	<-stuck
	events, _ := a.watching(t, "fast", false)
	for n := range 20_000 {
		if err := os.WriteFile(fmt.Sprintf("%s/slow/%0100d", a.in, n%5000), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if n%4000 == 0 {
			name := fmt.Sprintf("fast/%d", n)
			a.fill(t, name)
			expect(t, events, yurt.FileCreated, name)
		}
	}
	close(goOn)
	if err := <-ended; !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if e := <-lost; e.Path != "slow" {
		t.Errorf("lost events were told of as %+v", e)
	}
}

// TestWatchesAreFull: a directory that cannot be watched any more is an error that says so, and the watches go on.
func TestWatchesAreFull(t *testing.T) {
	a := newArena(t)
	a.shared = inotify.New(3)
	a.fill(t, "one/", "two/sub/sub/")
	events, _ := a.watching(t, "one", true)
	err := a.Watch(t.Context(), a.shared, "two", true, func() { t.Error("it is watched") }, nil)
	if yurt.CodeOf(err) != yurt.CodeOverloaded || !strings.Contains(err.Error(), "end another watch") {
		t.Errorf("beyond the bound the answer is %v", err)
	}
	a.watching(t, "two", false)
	a.fill(t, "one/f")
	expect(t, events, yurt.FileCreated, "one/f")
}
