package node_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// claimable is a sandbox that differs from its template in all that a claim can bind.
func claimable() yurt.SandboxSpec {
	spec := testutil.Spec()
	spec.Env = map[string]string{"OWNER": "me"}
	spec.Labels = map[string]string{"session": "ses_1"}
	spec.Resources.Memory = 2 * spec.Resources.Memory
	spec.Resources.Disk /= 4
	spec.Resources.PIDs = yurt.MinPIDs
	return spec
}

func reserveOne(t *testing.T, e *executor.Executor) yurt.Sandbox {
	t.Helper()
	s, err := e.ReserveSandbox(t.Context(), testutil.Template())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestClaimBindsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	warm := reserveOne(t, e)
	if !warm.Warm {
		t.Errorf("it is not warm: %+v", warm)
	}
	if err := e.StartExecution(t.Context(), warm.ID, testutil.Command("true")); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("something was started in the reserve: %v", err)
	}
	spec := claimable()
	s, found, err := e.ClaimSandbox(t.Context(), spec)
	if err != nil || !found {
		t.Fatalf("found %t, %v", found, err)
	}
	if s.ID != warm.ID || s.Warm || !maps.Equal(s.Labels, spec.Labels) || s.Phases["total"] <= 0 {
		t.Errorf("it got %+v", s)
	}
	r := testutil.Run(t, e, s.ID, `echo $OWNER; df -k --output=size /workspace /tmp | tail -n 2; df -k --output=size /dev/shm | tail -n 1
		sed -n 's/MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo
		head -c 300M /dev/zero > /workspace/x 2>/dev/null || echo full; df -k --output=used /workspace | tail -n 1`)
	disk, memory := int64(spec.Resources.Disk)>>10, int64(spec.Resources.Memory)>>10
	got, want := strings.Fields(r.Stdout), strings.Fields(fmt.Sprintln("me", disk, disk, memory/2, memory, "full", disk))
	if !slices.Equal(got, want) {
		t.Errorf("inside it is %q, want %q; %s", got, want, r.Stderr)
	}
	sleepers := strings.Repeat("sleep 300 & ", yurt.MinPIDs)
	if r := testutil.Run(t, e, s.ID, sleepers+"echo all began"); strings.Contains(r.Stdout, "all began") {
		t.Error("the limit of processes does not hold")
	}
	if _, found, err := e.ClaimSandbox(t.Context(), spec); found || err != nil {
		t.Errorf("a second one was found: %t, %v", found, err)
	}
}

func TestClaimsOfAnotherTemplateFindNothing(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	reserveOne(t, e)
	spec := claimable()
	spec.Template.Env = map[string]string{"A": "b"}
	if _, found, err := e.ClaimSandbox(t.Context(), spec); found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
	spec = claimable()
	spec.Resources.CPU = 10_000
	if _, found, err := e.ClaimSandbox(t.Context(), spec); found || yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("found %t, %v", found, err)
	}
	spec = claimable()
	spec.Host = &yurt.HostAccess{}
	if _, found, err := e.ClaimSandbox(t.Context(), spec); found || yurt.CodeOf(err) != yurt.CodeNotSupported {
		t.Errorf("with access to the host it found %t, %v", found, err)
	}
	if list, err := e.Reserves(t.Context()); err != nil || len(list) != 1 || list[0].Ready != 1 {
		t.Errorf("the reserve is %+v, %v", list, err)
	}
}

func TestManyClaimOneSandbox(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	for range 2 {
		reserveOne(t, e)
		var (
			group sync.WaitGroup
			mu    sync.Mutex
			won   int
		)
		for range 500 {
			group.Go(func() {
				_, found, err := e.ClaimSandbox(t.Context(), claimable())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if found {
					won++
				}
			})
		}
		group.Wait()
		if won != 1 {
			t.Errorf("%d of 500 got the one sandbox", won)
		}
	}
}

// TestReserveThatDies: no caller can claim it or destroy it.
func TestReserveThatDies(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := testutil.Start(t, config)
	s := reserveOne(t, e)
	testutil.Kill(t, s.PID)
	testutil.Eventually(t, "it is removed", func() bool {
		list, err := e.Sandboxes(t.Context())
		return err == nil && len(list) == 0
	})
	testutil.Eventually(t, "with all that it had", func() bool {
		left, err := os.ReadDir(filepath.Join(statedir.RunDir("", config.StateDir), "sandboxes"))
		return err == nil && len(left) == 0
	})
	if _, found, err := e.ClaimSandbox(t.Context(), claimable()); found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
}

// TestReserveOutlivesItsExecutor: claimed sandboxes stay claimed, and the others can be claimed.
func TestReserveOutlivesItsExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	warm := []string{reserveOne(t, first).ID, reserveOne(t, first).ID}
	claimed, found, err := first.ClaimSandbox(t.Context(), claimable())
	if err != nil || !found || claimed.ID != warm[0] {
		t.Fatalf("it got %+v, %t, %v", claimed, found, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next := testutil.Start(t, config)
	if r := testutil.Run(t, next, claimed.ID, "echo $OWNER"); r.Stdout != "me\n" {
		t.Errorf("the claimed one says %+v", r)
	}
	s, found, err := next.ClaimSandbox(t.Context(), claimable())
	if err != nil || !found || s.ID != warm[1] {
		t.Errorf("it got %+v, %t, %v", s, found, err)
	}
	if _, found, err := next.ClaimSandbox(t.Context(), claimable()); found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
}
