package inotify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const made = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_DELETE_SELF

// subscribe returns a subscription that ends with the test.
func subscribe(t *testing.T, s *Shared) *Subscription {
	t.Helper()
	sub, err := s.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	return sub
}

func (sub *Subscription) watch(t *testing.T, path string) int32 {
	t.Helper()
	number, err := sub.Add(path, made)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// await waits until the subscription has an event of that kind and name.
func (sub *Subscription) await(t *testing.T, mask uint32, name string) {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		select {
		case <-sub.Wake():
		case <-deadline:
			t.Fatalf("no event %#x of %q came", mask, name)
		}
		events, _ := sub.Take()
		for _, e := range events {
			if e.Mask&mask != 0 && e.Name == name {
				return
			}
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSubscriptionsOfOneDirectory(t *testing.T) {
	dir, shared := t.TempDir(), New(10)
	touch(t, filepath.Join(dir, "before"))
	a := subscribe(t, shared)
	number := a.watch(t, dir)
	touch(t, filepath.Join(dir, "first"))
	b := subscribe(t, shared)
	if other := b.watch(t, dir); other != number {
		t.Errorf("the kernel gave the same directory the numbers %d and %d", number, other)
	}
	a.await(t, unix.IN_CREATE, "first")
	if events, _ := b.Take(); len(events) > 0 {
		t.Errorf("a subscription got events from before it began: %+v", events)
	}
	a.Remove(number)
	touch(t, filepath.Join(dir, "second"))
	b.await(t, unix.IN_CREATE, "second")
	if events, _ := a.Take(); len(events) > 0 {
		t.Errorf("a subscription got events after it ended its watch: %+v", events)
	}
	b.Close()
	a.watch(t, dir)
	touch(t, filepath.Join(dir, "third"))
	a.await(t, unix.IN_CREATE, "third")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	a.await(t, unix.IN_IGNORED, "")
}

func TestFull(t *testing.T) {
	top, shared := t.TempDir(), New(2)
	sub := subscribe(t, shared)
	for n := range 3 {
		dir := filepath.Join(top, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := sub.Add(dir, made); errors.Is(err, ErrFull) != (n == 2) {
			t.Fatalf("the watch %d: %v", n, err)
		}
	}
	sub.Close()
	subscribe(t, shared).watch(t, top)
}

// TestLost: a subscription that does not read has a bounded queue, and hears of the end of its watch all the same.
func TestLost(t *testing.T) {
	dir := t.TempDir()
	sub := subscribe(t, New(1))
	sub.watch(t, dir)
	for n := range 8000 {
		touch(t, fmt.Sprintf("%s/%0200d", dir, n))
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	size, lost, gone := 0, false, false
	for deadline := time.Now().Add(time.Minute); !gone; time.Sleep(10 * time.Millisecond) {
		events, some := sub.Take()
		lost = lost || some
		for _, e := range events {
			size += len(e.Name)
			gone = gone || e.Mask&unix.IN_IGNORED != 0
		}
		if time.Now().After(deadline) {
			t.Fatal("the end of the watch never came")
		}
	}
	if !lost {
		t.Error("it is not told that it lost events")
	}
	if size > 2*maxPending {
		t.Errorf("%d bytes of names were kept, want at most about %d", size, maxPending)
	}
}
