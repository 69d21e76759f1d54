package runlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func create(t testing.TB) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	l, err := Create(Place{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

func add(t testing.TB, l *Log, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

// story is the log of an execution.
func story() []Entry {
	at := time.Unix(1_700_000_000, 123_456_789)
	return []Entry{
		{Started, at, nil},
		{Stdout, at.Add(1), []byte("one\n")},
		{Control, at.Add(2), []byte(`{"result":1}`)},
		{Stderr, at.Add(3), []byte("\xff\x00")},
		{Stdout, at.Add(4), bytes.Repeat([]byte("two"), 100)},
		{Ended, at.Add(5), []byte("{}")},
	}
}

// follow returns the entries that a watcher sees.
func follow(ctx context.Context, l *Log) (seen []Entry, err error) {
	err = l.Follow(ctx, func(e Entry) error {
		seen = append(seen, e)
		return nil
	})
	return seen, err
}

// withoutOutput returns entries as [Open] tells them.
func withoutOutput(entries []Entry) []Entry {
	told := slices.Clone(entries)
	for i := range told {
		if told[i].Kind == Stdout || told[i].Kind == Stderr {
			told[i].Data = nil
		}
	}
	return told
}

// done is a context that has ended: a Follow with it reads the entries so far.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func diff(want, got []Entry) string {
	if len(want) == 0 && len(got) == 0 {
		return ""
	}
	return cmp.Diff(want, got, cmp.Comparer(func(a, b Entry) bool {
		return a.Kind == b.Kind && a.At.Equal(b.At) && bytes.Equal(a.Data, b.Data)
	}))
}

func TestEntriesComeBackAsTheyWereWritten(t *testing.T) {
	l, path := create(t)
	add(t, l, story()...)
	seen, err := follow(t.Context(), l)
	if d := diff(story(), seen); err != nil || d != "" {
		t.Errorf("followed: %v\n%s", err, d)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var opened []Entry
	again, err := Open(Place{Path: path}, func(e Entry) { opened = append(opened, e) })
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if d := diff(withoutOutput(story()), opened); d != "" {
		t.Errorf("opened:\n%s", d)
	}
	if seen, err := follow(t.Context(), again); err != nil || diff(story(), seen) != "" {
		t.Errorf("opened and followed: %v\n%s", err, diff(story(), seen))
	}
}

func TestCreateRefusesAnExistingFile(t *testing.T) {
	_, path := create(t)
	if l, err := Create(Place{Path: path}); err == nil {
		l.Close()
		t.Error("a log was made over another")
	}
	if _, err := Open(Place{Path: path + "none"}, func(Entry) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that is not there: %v", err)
	}
}

func TestAppendBounds(t *testing.T) {
	l, path := create(t)
	if err := l.Append(Entry{Kind: Ended, Data: make([]byte, maxEntry+1)}); err == nil {
		t.Error("an entry beyond the bound was written")
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("it left %d bytes, %v", info.Size(), err)
	}
}

// TestTornTail cuts a log off at every byte. Whole entries stay, a torn one is gone,
// and the log goes on from there.
func TestTornTail(t *testing.T) {
	l, path := create(t)
	var ends []int64
	for _, e := range story() {
		add(t, l, e)
		ends = append(ends, l.size)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := Entry{Stderr, time.Unix(9, 9), []byte("after the crash")}
	for cut := range len(whole) + 1 {
		torn := filepath.Join(t.TempDir(), "torn")
		if err := os.WriteFile(torn, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		var want []Entry
		for i, e := range story() {
			if ends[i] <= int64(cut) {
				want = append(want, e)
			}
		}
		var got []Entry
		log, err := Open(Place{Path: torn}, func(e Entry) { got = append(got, e) })
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if d := diff(withoutOutput(want), got); d != "" {
			t.Fatalf("cut at %d:\n%s", cut, d)
		}
		add(t, log, more)
		seen, _ := follow(done(), log)
		if d := diff(append(want, more), seen); d != "" {
			t.Fatalf("cut at %d and written to:\n%s", cut, d)
		}
		log.Close()
	}
}

// TestOpenSaysWhatItCannotRead must not take a log for torn when reading it failed: Open
// would cut off good entries.
func TestOpenSaysWhatItCannotRead(t *testing.T) {
	l, path := create(t)
	add(t, l, story()...)
	dir := t.TempDir() + "/dir"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Place{Path: dir}, func(Entry) {}); err == nil {
		t.Error("a directory was opened as a log")
	}
	// The memory of a process can be opened and not be read at 0.
	if _, err := Open(Place{Path: "/proc/self/mem"}, func(Entry) {}); err == nil || errors.Is(err, errNotWhole) {
		t.Errorf("what fails to be read was taken for torn: %v", err)
	}
	if seen, err := follow(t.Context(), l); err != nil || len(seen) != len(story()) {
		t.Errorf("%s: %d entries, %v", path, len(seen), err)
	}
}

// TestManyWatchers has watchers come and go while the log is written. Each sees
// every entry once and in order, and ends by itself.
func TestManyWatchers(t *testing.T) {
	const entries, watchers = 2000, 30
	l, _ := create(t)
	var group sync.WaitGroup
	for w := range watchers {
		group.Go(func() {
			if w%3 == 0 {
				time.Sleep(time.Duration(w) * time.Millisecond) // later than the beginning
			}
			if w%5 == 0 { // and one that does not stay
				n := 0
				err := l.Follow(t.Context(), func(Entry) error {
					if n++; n == 10 {
						return os.ErrProcessDone
					}
					return nil
				})
				if !errors.Is(err, os.ErrProcessDone) || n != 10 {
					t.Errorf("watcher %d left after %d with %v", w, n, err)
				}
				return
			}
			seen, err := follow(t.Context(), l)
			if err != nil || len(seen) != entries+1 {
				t.Errorf("watcher %d saw %d entries, %v", w, len(seen), err)
				return
			}
			for i, e := range seen[:entries] {
				if string(e.Data) != fmt.Sprint(i) {
					t.Errorf("watcher %d: entry %d is %q", w, i, e.Data)
					return
				}
			}
		})
	}
	for i := range entries {
		add(t, l, Entry{Stdout, time.Now(), fmt.Append(nil, i)})
	}
	add(t, l, Entry{Ended, time.Now(), nil})
	group.Wait()
}

func TestFollowEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*Log, context.CancelFunc)
		want error
	}{
		"with its context": {func(_ *Log, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"with the log":     {func(l *Log, _ context.CancelFunc) { l.Close() }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := create(t)
			add(t, l, story()[:3]...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error)
			count := make(chan int, 10)
			go func() { ended <- l.Follow(ctx, func(Entry) error { count <- 1; return nil }) }()
			for range 3 {
				<-count
			}
			tt.end(l, cancel)
			select {
			case err := <-ended:
				if !errors.Is(err, tt.want) {
					t.Errorf("it ended with %v, want %v", err, tt.want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on waiting")
			}
		})
	}
}

// TestCloseWhileItIsWritten is a sandbox being destroyed while it prints.
func TestCloseWhileItIsWritten(t *testing.T) {
	for range 200 {
		l, _ := create(t)
		var group sync.WaitGroup
		group.Go(func() {
			for {
				if err := l.Append(Entry{Kind: Stdout, Data: []byte("x")}); err != nil {
					return
				}
			}
		})
		group.Go(func() {
			if _, err := follow(t.Context(), l); !errors.Is(err, ErrClosed) {
				t.Errorf("the watcher got %v", err)
			}
		})
		runtime.Gosched()
		l.Close()
		l.Close() // twice is fine
		group.Wait()
	}
}
