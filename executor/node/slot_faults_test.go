package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/test/smalldisk"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestUserCodeCannotEndItsSlot: whichever process it kills or resource it uses up, its sandbox stays until its owner
// destroys it, and the next sandbox is unaffected.
func TestUserCodeCannotEndItsSlot(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	open(t, e, room("a", func(s *yurt.SlotSpec) { s.Resources.Memory, s.Resources.PIDs = 64<<20, 32 }))
	spec := wanted("ses_1")
	spec.Resources.Memory, spec.Resources.PIDs = 64<<20, 32
	s, err := e.AwaitSandbox(t.Context(), spec, "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"echo mine > /workspace/mark; echo mine > /tmp/mark; kill -9 1; kill -9 -1",
		"f() { f | f & }; f; sleep 0.5",
		"x=x; while :; do x=$x$x; done",
		"cat /dev/zero > /workspace/full; cat /dev/zero > /tmp/full; cat /dev/zero > /dev/shm/full",
	} {
		testutil.Run(t, e, s.ID, line)
		if now := awaitSlot(t, e, "a", yurt.SlotClaimed); now.SandboxID != s.ID {
			t.Fatalf("after %q it is %+v", line, now)
		}
	}
	if info, err := e.StatFile(t.Context(), s.ID, "mark"); err != nil || info.Size != 5 {
		t.Errorf("what it wrote is %+v, %v", info, err)
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	next, err := e.AwaitSandbox(t.Context(), spec, "a")
	if err != nil || next.ID == s.ID {
		t.Fatalf("the next is %+v, %v", next, err)
	}
	if r := testutil.Run(t, e, next.ID, "ls -A /workspace /tmp /dev/shm"); strings.Contains(r.Stdout, "mark") || strings.Contains(r.Stdout, "full") {
		t.Errorf("the next one has %s", r.Stdout)
	}
}

// TestFullDiskAtTheExecutor, and a full runtime directory: slots wait for room and say so, running executions go on,
// and a claim that cannot be recorded does not count.
func TestFullDiskAtTheExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	disk := smalldisk.InMemory(t, 4<<20, "").Dir
	config.StateDir, config.RunDir = filepath.Join(disk, "state"), disk
	e := testutil.Start(t, config)
	for _, id := range []string{"a", "b"} {
		open(t, e, room(id))
	}
	s, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "a")
	if err != nil {
		t.Fatal(err)
	}
	awaitSlot(t, e, "b", yurt.SlotReady)
	goesOn := testutil.Command("read line; echo \"$line\" > /workspace/said; cat /workspace/said", stdinOpen)
	if err := e.StartExecution(t.Context(), s.ID, goesOn); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	if _, err := e.OpenSlot(t.Context(), room("c")); yurt.CodeOf(err) != yurt.CodeDiskFull {
		t.Errorf("a slot that cannot be recorded: %v", err)
	}
	if _, found, err := e.ClaimSandbox(t.Context(), wanted("ses_2")); found || yurt.CodeOf(err) != yurt.CodeDiskFull {
		t.Errorf("a claim that cannot be recorded: %t, %v", found, err)
	}
	awaitSlot(t, e, "b", yurt.SlotReady) // where that was, there is room for one
	if info, err := os.Stat(filler); err != nil {
		t.Fatal(err)
	} else if err := os.Truncate(filler, info.Size()-int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	open(t, e, room("c")) // takes the remaining room for its record
	testutil.Eventually(t, "the slot says why it has no sandbox", func() bool {
		return strings.Contains(awaitSlot(t, e, "c", yurt.SlotMaking).Reason, "is full")
	})
	if err := e.WriteStdin(t.Context(), s.ID, goesOn.ID, []byte("on\n"), true); err != nil {
		t.Error(err)
	}
	testutil.Eventually(t, "what runs goes on", func() bool {
		info, err := e.StatFile(t.Context(), s.ID, "said")
		return err == nil && info.Size == 3
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	awaitSlot(t, e, "c", yurt.SlotReady)
	if _, found, err := e.ClaimSandbox(t.Context(), wanted("ses_2")); !found || err != nil {
		t.Errorf("with room again: %t, %v", found, err)
	}
}

// TestClosingEndsNoSlot: that an executor that is closing makes no sandbox is no fault of
// the slot, which the next executor goes on with.
func TestClosingEndsNoSlot(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	open(t, e, room("a"))
	s, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "a")
	if err != nil {
		t.Fatal(err)
	}
	// Its keeper has to wait until the executor begins to close.
	if err := e.SetDraining(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	left, undo := node.BeginClose(e.Node, "a")
	defer undo()
	if err := e.SetDraining(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(testutil.Moment(t, 10*time.Second)):
		t.Error("the slot is still tried to be filled")
	}
	list, err := e.Slots(t.Context())
	if err != nil || len(list) != 1 || list[0].State == yurt.SlotEnded || list[0].Reason != "" {
		t.Errorf("there are %+v, %v", list, err)
	}
}
