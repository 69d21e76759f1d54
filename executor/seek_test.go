package executor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/rig"
)

// TestClaimOfWhatIsComing: who asks for the next sandbox of a template has that of a slot
// which makes one, is told at once that none is coming when there is no such slot or others
// wait for all of them, and takes nothing of a session's own.
func TestClaimOfWhatIsComing(t *testing.T) {
	e := rig.Executor(t)
	next := func(session string) (yurt.Sandbox, error) {
		return e.AwaitSandbox(t.Context(), wanted(session), "")
	}
	if _, err := next("ses_1"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Fatalf("without a slot it says %v", err)
	}
	open(t, e, room("own", forSession("ses_9")))
	if _, err := next("ses_1"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Fatalf("with another's slot it says %v", err)
	}
	open(t, e, room("a"))
	first, err := next("ses_1")
	if err != nil || first.Slot != "a" || first.Warm || first.Labels[yurt.SessionLabel] != "ses_1" {
		t.Fatalf("it got %+v, %v", first, err)
	}
	if _, err := next("ses_2"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Fatalf("when it is claimed it says %v", err)
	}
	if err := e.DestroySandbox(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	second, err := next("ses_2")
	if err != nil || second.Slot != "a" || second.ID == first.ID {
		t.Fatalf("after that it got %+v, %v", second, err)
	}
	if r := run(t, e, second.ID, "echo hello"); r.Stdout != "hello\n" {
		t.Errorf("it says %+v", r)
	}
}

// TestNextOnesAreClaimedOnce: while sessions come and go faster than slots are refilled, each
// of those who wait has a sandbox of its own, and who leaves while waiting keeps none.
func TestNextOnesAreClaimedOnce(t *testing.T) {
	e := rig.Executor(t)
	const slots, clients, rounds = 3, 5, 6
	const hurry = 10 * time.Millisecond // which is enough for some sandboxes, and not for others
	for i := range slots {
		open(t, e, room(fmt.Sprintf("s%d", i)))
	}
	var (
		mu     sync.Mutex
		owners = map[string]string{}
		all    sync.WaitGroup
	)
	for client := range clients {
		all.Go(func() {
			for round := range rounds {
				me := fmt.Sprintf("ses_%d_%d", client, round)
				ctx, cancel := context.WithCancel(t.Context())
				if client == 0 { // it is in a hurry
					ctx, cancel = context.WithTimeout(t.Context(), hurry)
				}
				s, err := awaitNext(ctx, e, me)
				cancel()
				if err != nil {
					if client != 0 {
						t.Error(err)
					}
					continue
				}
				mu.Lock()
				if other := owners[s.ID]; other != "" {
					t.Errorf("%s has the sandbox of %s", me, other)
				}
				owners[s.ID] = me
				mu.Unlock()
				if s.Labels[yurt.SessionLabel] != me {
					t.Errorf("%s got that of %s", me, s.Labels[yurt.SessionLabel])
				}
				if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range slots { // none is lost to who left
		awaitSlot(t, e, fmt.Sprintf("s%d", i), yurt.SlotReady)
	}
}

// awaitNext asks until one is coming.
func awaitNext(ctx context.Context, e *executor.Executor, session string) (yurt.Sandbox, error) {
	for {
		s, err := e.AwaitSandbox(ctx, wanted(session), "")
		if yurt.CodeOf(err) != yurt.CodeNotFound {
			return s, err
		}
		time.Sleep(time.Millisecond)
	}
}
