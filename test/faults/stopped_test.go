package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// A create that its caller gives up at any moment leaves no sandbox behind.
func TestCreatesThatAreGivenUp(t *testing.T) {
	d := newDaemon(t)
	l := newLoad(t, d)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60))*time.Millisecond)
				s, err := d.CreateSandbox(ctx, testutil.Spec())
				switch {
				case err == nil:
					err = d.DestroySandbox(t.Context(), s.ID)
				case errors.Is(err, context.DeadlineExceeded):
					err = nil // as it should be
				}
				cancel()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	list, err := d.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The answer may have been on its way when the caller left: it knows the id, and is
	// free to ask.
	for _, s := range list {
		l.tried[s.ID] = true
	}
	if len(list) > 4 {
		t.Errorf("%d sandboxes of 40 have no owner", len(list))
	}
	l.checkQuiet()
}

// Stopped while creates are under way, the executor makes them whole or not at all, and says which;
// the sandboxes that it reported are there afterwards.
func TestStoppedInTheMiddle(t *testing.T) {
	d := newDaemon(t)
	l := newLoad(t, d)
	var mu sync.Mutex
	var made []yurt.Sandbox
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				s, ok := l.create()
				if !ok {
					return
				}
				mu.Lock()
				made = append(made, s)
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
	d.stop(syscall.SIGTERM)
	callers.Wait()
	d.start()
	t.Logf("%d sandboxes were made", len(made))
	l.checkSurvivors(readyOnes(made...))
	l.checkQuiet()
}
