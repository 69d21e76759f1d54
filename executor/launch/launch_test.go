package launch_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestCreatesThatAreGivenUp has callers that leave in the middle of a create, as clients of an API do. Their sandboxes
// must be gone, and those of other callers undisturbed.
func TestCreatesThatAreGivenUp(t *testing.T) {
	e := testutil.Executor(t)
	if _, err := e.CreateSandbox(t.Context(), testutil.Spec()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			for range 15 {
				patience := time.Duration(rand.IntN(30_000)) * time.Microsecond
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				s, err := e.CreateSandbox(ctx, testutil.Spec())
				cancel()
				if err == nil {
					err = e.DestroySandbox(t.Context(), s.ID)
				} else if ctx.Err() != nil {
					err = nil // as it should be
				}
				if err != nil {
					t.Errorf("with %s of patience: %v", patience, err)
				}
			}
		})
	}
	stay := make(chan struct{})
	go func() { group.Wait(); close(stay) }()
	for n := 0; ; n++ {
		select {
		case <-stay:
			if n == 0 {
				t.Error("nobody was there to be disturbed")
			}
			if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("%d sandboxes are left, %v", len(list), err)
			}
			return
		default:
		}
		s, err := e.CreateSandbox(t.Context(), testutil.Spec())
		if err != nil {
			t.Fatalf("a create that nobody gave up: %v", err)
		}
		if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
	}
}
