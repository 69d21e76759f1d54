package node_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/test/testutil"
)

// room is a slot of the template without an owner.
func room(id string, changes ...func(*yurt.SlotSpec)) yurt.SlotSpec {
	spec := yurt.SlotSpec{ID: id, Template: testutil.Template(), Resources: testutil.Spec().Resources, Labels: map[string]string{yurt.LabelNomadAlloc: "alloc-" + id}}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

func once(s *yurt.SlotSpec) { s.Once = true }

func forSession(id string) func(*yurt.SlotSpec) { return func(s *yurt.SlotSpec) { s.For = id } }

// wanted is the request of a session for a sandbox.
func wanted(session string) yurt.SandboxSpec {
	spec := testutil.Spec()
	spec.Labels = map[string]string{yurt.SessionLabel: session}
	return spec
}

func open(t *testing.T, e *executor.Executor, spec yurt.SlotSpec) yurt.Slot {
	t.Helper()
	s, err := e.OpenSlot(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitSlot waits until the slot has the state.
func awaitSlot(t *testing.T, e *executor.Executor, id string, state yurt.SlotState) yurt.Slot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
	defer cancel()
	var last yurt.Slot
	err := e.WatchSlots(ctx, id, func(list []yurt.Slot) error {
		i := slices.IndexFunc(list, func(s yurt.Slot) bool { return s.ID == id })
		if i >= 0 {
			last = list[i]
		}
		if i >= 0 && last.State == state {
			return errFound
		}
		return nil
	})
	if err != errFound { //nolint:errorlint // it is the one given
		t.Fatalf("slot %s did not become %s, it is %+v: %v", id, state, last, err)
	}
	return last
}

// errFound ends a watch.
const errFound = ended("it was found")

type ended string

func (e ended) Error() string { return string(e) }

func TestSlotIsFilledAgain(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	if s := open(t, e, room("a")); s.State != yurt.SlotMaking {
		t.Errorf("at first it is %+v", s)
	}
	first := awaitSlot(t, e, "a", yurt.SlotReady)
	if again := open(t, e, room("a")); again.SandboxID != first.SandboxID {
		t.Errorf("opened again it is %+v", again)
	}
	if _, err := e.OpenSlot(t.Context(), room("a", once)); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("as another one: %v", err)
	}
	spec := wanted("ses_1")
	spec.Env = map[string]string{"OWNER": "me"}
	s, found, err := e.ClaimSandbox(t.Context(), spec)
	if err != nil || !found || s.ID != first.SandboxID || s.Slot != "a" || s.Warm {
		t.Fatalf("it got %+v, %t, %v", s, found, err)
	}
	if s.Labels[yurt.SessionLabel] != "ses_1" || s.Labels[yurt.LabelNomadAlloc] != "alloc-a" {
		t.Errorf("it has the labels %v", s.Labels)
	}
	if r := testutil.Run(t, e, s.ID, "echo $OWNER"); r.Stdout != "me\n" {
		t.Errorf("it says %+v", r)
	}
	if now := awaitSlot(t, e, "a", yurt.SlotClaimed); now.SandboxID != s.ID {
		t.Errorf("claimed it is %+v", now)
	}
	if _, found, err := e.ClaimSandbox(t.Context(), wanted("ses_2")); found || err != nil {
		t.Errorf("it was handed out twice: %t, %v", found, err)
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if next := awaitSlot(t, e, "a", yurt.SlotReady); next.SandboxID == s.ID {
		t.Errorf("it has the same sandbox again: %+v", next)
	}
	if list, err := e.Reserves(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the reserve has %+v, %v", list, err)
	}
	for range 2 {
		if err := e.CloseSlot(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	list, err := e.Slots(t.Context())
	sandboxes, failure := e.Sandboxes(t.Context())
	if len(list) != 0 || len(sandboxes) != 0 || err != nil || failure != nil {
		t.Errorf("after it was closed there are %+v, %+v, %v, %v", list, sandboxes, err, failure)
	}
}

// TestSlotsThatNobodyNeeds are ended, and no others.
func TestSlotsThatNobodyNeeds(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	for _, spec := range []yurt.SlotSpec{room("a"), room("b"), room("c"), room("mine", once, forSession("ses_mine"))} {
		open(t, e, spec)
		awaitSlot(t, e, spec.ID, yurt.SlotReady)
	}
	claimed, found, err := e.ClaimSandbox(t.Context(), wanted("ses_1"))
	if err != nil || !found {
		t.Fatal(found, err)
	}
	digest := testutil.Template().Digest()
	if ids, err := e.RetireSlots(t.Context(), "another", 5); err != nil || len(ids) != 0 {
		t.Errorf("of another template it ended %q, %v", ids, err)
	}
	ids, err := e.RetireSlots(t.Context(), digest, 1)
	if err != nil || len(ids) != 1 || ids[0] == claimed.Slot || ids[0] == "mine" {
		t.Fatalf("it ended %q, %v", ids, err)
	}
	if s, err := e.WaitSlot(t.Context(), ids[0]); err != nil || s.State != yurt.SlotEnded || s.Failed || s.Reason == "" {
		t.Errorf("it is %+v, %v", s, err)
	}
	if ids, err := e.RetireSlots(t.Context(), digest, 5); err != nil || len(ids) != 1 {
		t.Errorf("then it ended %q, %v", ids, err)
	}
	if s := awaitSlot(t, e, claimed.Slot, yurt.SlotClaimed); s.SandboxID != claimed.ID {
		t.Errorf("the claimed one is %+v", s)
	}
	if c, err := e.Capacity(t.Context()); err != nil || c.Templates[digest].Slots != 2 || c.Templates[digest].Own != 1 || c.Templates[digest].Warm != 0 || c.Templates[digest].Claimed != 1 {
		t.Errorf("its capacity is %+v, %v", c, err)
	}
	if _, err := e.AwaitSandbox(t.Context(), wanted("ses_mine"), "mine"); err != nil {
		t.Error(err)
	}
}

func TestSlotForOneSession(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	type answer struct {
		sandbox yurt.Sandbox
		err     error
	}
	answers := make(chan answer, 1)
	go func() { // before there is such a slot
		s, err := e.AwaitSandbox(t.Context(), wanted("ses_mine"), "cold")
		answers <- answer{s, err}
	}()
	open(t, e, room("cold", once, forSession("ses_mine")))
	if _, err := e.AwaitSandbox(t.Context(), wanted("ses_other"), "cold"); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("another session: %v", err)
	}
	if _, found, err := e.ClaimSandbox(t.Context(), wanted("ses_other")); found || err != nil {
		t.Errorf("another session's claim: %t, %v", found, err)
	}
	got := <-answers
	if got.err != nil || got.sandbox.Slot != "cold" || got.sandbox.Labels[yurt.SessionLabel] != "ses_mine" {
		t.Fatalf("it got %+v, %v", got.sandbox, got.err)
	}
	if again, err := e.AwaitSandbox(t.Context(), wanted("ses_mine"), "cold"); err != nil || again.ID != got.sandbox.ID {
		t.Errorf("asked again, as if the answer had been lost: %+v, %v", again, err)
	}
	other := wanted("ses_mine")
	other.Env = map[string]string{"A": "b"}
	if _, err := e.AwaitSandbox(t.Context(), other, "cold"); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("asked for something else: %v", err)
	}
	if err := e.DestroySandbox(t.Context(), got.sandbox.ID); err != nil {
		t.Fatal(err)
	}
	ended, err := e.WaitSlot(t.Context(), "cold")
	if err != nil || ended.State != yurt.SlotEnded || ended.Failed || ended.Reason != "its sandbox was destroyed" {
		t.Errorf("it ended as %+v, %v", ended, err)
	}
	if _, err := e.AwaitSandbox(t.Context(), wanted("ses_mine"), "cold"); yurt.CodeOf(err) != yurt.CodeSandboxFailed || !strings.Contains(err.Error(), ended.Reason) {
		t.Errorf("of a slot that has ended: %v", err)
	}
}

func TestSlotHasBounds(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	open(t, e, room("small"))
	awaitSlot(t, e, "small", yurt.SlotReady)
	spec := wanted("ses_1")
	spec.Resources.Memory *= 2
	if _, found, err := e.ClaimSandbox(t.Context(), spec); found || err != nil {
		t.Errorf("more than there is room for: %t, %v", found, err)
	}
	if _, err := e.AwaitSandbox(t.Context(), spec, "small"); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("more than there is room for, of that slot: %v", err)
	}
	spec = wanted("ses_1")
	spec.Template.Env = map[string]string{"A": "b"}
	if _, err := e.AwaitSandbox(t.Context(), spec, "small"); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("of another template: %v", err)
	}
	for what, spec := range map[string]yurt.SlotSpec{
		"id":                room("A/b"),
		"resources.cpu":     room("x", func(s *yurt.SlotSpec) { s.Resources.CPU = 500 }),
		"resources":         room("x", func(s *yurt.SlotSpec) { s.Resources.PIDs = 0 }),
		"network.mode":      room("x", func(s *yurt.SlotSpec) { s.Template.Network.Mode = "host" }),
		"rootfs.host_paths": room("x", func(s *yurt.SlotSpec) { s.Template.RootFS.HostPaths = []string{"/root"} }),
	} {
		if _, err := e.OpenSlot(t.Context(), spec); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("a wrong %s is %v", what, err)
		}
	}
	if _, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "x"); err == nil || yurt.CodeOf(err) == yurt.CodeUnavailable {
		t.Errorf("who waits for a slot that was refused is told %v", err)
	}
	open(t, e, room("x"))
	if _, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "x"); err != nil {
		t.Errorf("who waits for it when it was opened after all is told %v", err)
	}
	if _, err := e.WaitSlot(t.Context(), "none"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Errorf("to wait for one that is not there is %v", err)
	}
}

// TestSlotMakesAnotherWhenItsSandboxDies, claimed or not.
func TestSlotMakesAnotherWhenItsSandboxDies(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	open(t, e, room("a"))
	open(t, e, room("b", once))
	for range 2 {
		for _, id := range []string{"a", "b"} {
			before := awaitSlot(t, e, id, yurt.SlotReady).SandboxID
			kill(t, e, before)
			testutil.Eventually(t, "another is ready", func() bool {
				now := awaitSlot(t, e, id, yurt.SlotReady).SandboxID
				return now != before
			})
		}
	}
	s, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "b")
	if err != nil {
		t.Fatal(err)
	}
	kill(t, e, s.ID)
	if ended, err := e.WaitSlot(t.Context(), "b"); err != nil || !strings.Contains(ended.Reason, "died") {
		t.Errorf("it ended as %+v, %v", ended, err)
	}
	list, err := e.Sandboxes(t.Context())
	if i := slices.IndexFunc(list, func(l yurt.Sandbox) bool { return l.ID == s.ID }); err != nil || i < 0 || list[i].State != yurt.SandboxDead {
		t.Errorf("its owner is told %+v, %v", list, err)
	}
}

// kill ends the init of a sandbox.
func kill(t *testing.T, e *executor.Executor, id string) {
	t.Helper()
	list, err := e.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == id {
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("there is no sandbox %s among %+v", id, list)
}

// TestClosedSlotTellsItsOwner: a session hears of it whose sandbox goes with its slot.
func TestClosedSlotTellsItsOwner(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	open(t, e, room("a"))
	s, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	died := make(chan yurt.Sandbox, 1)
	watching := make(chan error, 1)
	go func() { watching <- e.WatchSandboxes(ctx, func(dead yurt.Sandbox) { died <- dead }) }()
	ended := make(chan yurt.Slot, 1)
	go func() {
		slot, _ := e.WaitSlot(t.Context(), "a")
		ended <- slot
	}()
	testutil.Eventually(t, "it is watched", func() bool { return node.Watchers(e.Node) == 1 })
	if err := e.CloseSlot(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if dead := <-died; dead.ID != s.ID || dead.State != yurt.SandboxDead || dead.Reason != "its slot was closed" || dead.Labels[yurt.SessionLabel] != "ses_1" {
		t.Errorf("it was told of %+v", dead)
	}
	if slot := <-ended; slot.State != yurt.SlotEnded || slot.Reason != "it was closed" {
		t.Errorf("who waited for it was told %+v", slot)
	}
	cancel()
	<-watching
}

// TestManyClaimFewSlots: each sandbox is handed out once, to any caller by any call.
func TestManyClaimFewSlots(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		open(t, e, room(id))
	}
	for range 2 {
		for _, id := range ids {
			awaitSlot(t, e, id, yurt.SlotReady)
		}
		var (
			claimers sync.WaitGroup
			mu       sync.Mutex
			got      []string
		)
		for i := range 500 {
			claimers.Go(func() {
				var s yurt.Sandbox
				var found bool
				var err error
				if i%5 == 0 {
					s, err = e.AwaitSandbox(t.Context(), wanted("ses_1"), ids[i%3])
					found = err == nil
					if yurt.CodeOf(err) == yurt.CodeUnavailable {
						err = nil
					}
				} else {
					s, found, err = e.ClaimSandbox(t.Context(), wanted("ses_1"))
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if found {
					got = append(got, s.ID)
				}
			})
		}
		claimers.Wait()
		slices.Sort(got)
		if len(got) != 3 || len(slices.Compact(slices.Clone(got))) != 3 {
			t.Errorf("500 got %q", got)
		}
		for _, id := range got {
			if err := e.DestroySandbox(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSlotsOutliveTheirExecutor: the next executor goes on with ready sandboxes, fills empty slots, and keeps ended
// slots ended.
func TestSlotsOutliveTheirExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	for _, spec := range []yurt.SlotSpec{room("warm"), room("claimed"), room("dead"), room("over", once), room("lost", once)} {
		open(t, first, spec)
		awaitSlot(t, first, spec.ID, yurt.SlotReady)
	}
	take := func(id string) yurt.Sandbox {
		s, err := first.AwaitSandbox(t.Context(), wanted("ses_1"), id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	claimed, lost := take("claimed"), take("lost")
	if err := first.DestroySandbox(t.Context(), take("over").ID); err != nil {
		t.Fatal(err)
	}
	warm, dead := awaitSlot(t, first, "warm", yurt.SlotReady), awaitSlot(t, first, "dead", yurt.SlotReady)
	list, err := first.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == lost.ID || s.ID == dead.SandboxID {
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			testutil.Eventually(t, "it is dead", func() bool { return !running(s.PID) })
		}
	}
	next := testutil.Start(t, config)
	if s := awaitSlot(t, next, "warm", yurt.SlotReady); s.SandboxID != warm.SandboxID {
		t.Errorf("the warm one is %+v", s)
	}
	if s := awaitSlot(t, next, "claimed", yurt.SlotClaimed); s.SandboxID != claimed.ID {
		t.Errorf("the claimed one is %+v", s)
	}
	if s := awaitSlot(t, next, "dead", yurt.SlotReady); s.SandboxID == dead.SandboxID {
		t.Errorf("the dead one is %+v", s)
	}
	awaitSlot(t, next, "over", yurt.SlotEnded)
	if s := awaitSlot(t, next, "lost", yurt.SlotEnded); !strings.Contains(s.Reason, "lost") {
		t.Errorf("the lost one is %+v", s)
	}
	if list, err := next.Sandboxes(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("there are %+v, %v", list, err)
	}
}

// TestRecordsOfSlotsThatCannotBeRead: a slot with a broken record is closed, and a newer version's is left unchanged.
func TestRecordsOfSlotsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e, err := executor.New(config) // makes the directory
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(config.StateDir, "slots", name+".json") }
	for name, text := range map[string]string{"broken": `{"version":`, "others": `{"version":1,"spec":{"id":"else"}}`, "newer": `{"version":99,"spec":"?"}`} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if e, err = executor.New(config); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "slot newer") {
		t.Errorf("with a newer version's it starts: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path("newer")); err != nil || string(text) != `{"version":99,"spec":"?"}` {
		t.Errorf("the newer version's is %q, %v", text, err)
	}
	if err := os.Remove(path("newer")); err != nil {
		t.Fatal(err)
	}
	e = testutil.Start(t, config)
	if list, err := e.Slots(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("there are %+v, %v", list, err)
	}
	if left, err := os.ReadDir(filepath.Join(config.StateDir, "slots")); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// running reports whether there is a process of that number that has not ended.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestSlotThatCannotBeFilledEnds, with the reason.
func TestSlotThatCannotBeFilledEnds(t *testing.T) {
	t.Parallel()
	e := limited(t, func(c *executor.Config) { c.MaxSandboxes = 1 })
	testutil.Create(t, e)
	open(t, e, room("a"))
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
	defer cancel()
	ended, err := e.WaitSlot(ctx, "a")
	if err != nil || !ended.Failed || !strings.Contains(ended.Reason, "as many as it may") {
		t.Errorf("it ended as %+v, %v", ended, err)
	}
}

// TestDrainingNodeTakesNothingNew, also when it is started again; existing sandboxes go on.
func TestDrainingNodeTakesNothingNew(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	open(t, first, room("a"))
	open(t, first, room("b"))
	s, err := first.AwaitSandbox(t.Context(), wanted("ses_1"), "a")
	if err != nil {
		t.Fatal(err)
	}
	awaitSlot(t, first, "b", yurt.SlotReady)
	if err := first.SetDraining(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	refused := func(e *executor.Executor) {
		t.Helper()
		_, found, claim := e.ClaimSandbox(t.Context(), wanted("ses_2"))
		_, await := e.AwaitSandbox(t.Context(), wanted("ses_2"), "b")
		_, opened := e.OpenSlot(t.Context(), room("c"))
		_, made := e.CreateSandbox(t.Context(), testutil.Spec())
		for what, err := range map[string]error{"claim": claim, "await": await, "open": opened, "create": made} {
			if found || yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "drained") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if c, err := e.Capacity(t.Context()); err != nil || !c.Draining {
			t.Errorf("it says %+v, %v", c, err)
		}
	}
	refused(first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next := testutil.Start(t, config)
	refused(next)
	if r := testutil.Run(t, next, s.ID, "echo on"); r.Stdout != "on\n" {
		t.Errorf("what was there says %+v", r)
	}
	if err := next.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	awaitSlot(t, next, "a", yurt.SlotMaking)
	if err := next.SetDraining(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	awaitSlot(t, next, "a", yurt.SlotReady)
	if _, found, err := next.ClaimSandbox(t.Context(), wanted("ses_2")); !found || err != nil {
		t.Errorf("afterwards: %t, %v", found, err)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
	defer cancel()
	digest := testutil.Template().Digest()
	until := func(what string, good func(c yurt.Capacity, t yurt.TemplateCapacity) bool) {
		t.Helper()
		var last yurt.Capacity
		err := e.WatchCapacity(ctx, func(c yurt.Capacity) error {
			if last = c; good(c, c.Templates[digest]) {
				return errFound
			}
			return nil
		})
		if err != errFound { //nolint:errorlint // it is the one given
			t.Fatalf("%s: it says %+v; %v", what, last, err)
		}
	}
	empty, err := e.Capacity(t.Context())
	if err != nil || len(empty.Templates) != 0 || empty.Free.Memory == 0 || empty.Free.CPU == 0 || empty.Node != "test" {
		t.Errorf("empty it says %+v, %v", empty, err)
	}
	open(t, e, room("a"))
	open(t, e, room("b", forSession("ses_b")))
	until("two slots, of which one is for anybody", func(c yurt.Capacity, of yurt.TemplateCapacity) bool {
		return of.Slots == 2 && of.Warm == 1 && of.Making == 0 && c.Free.Memory == empty.Free.Memory-2*room("a").Resources.Memory
	})
	_, found, err := e.ClaimSandbox(t.Context(), wanted("ses_1"))
	if _, again, _ := e.ClaimSandbox(t.Context(), wanted("ses_1")); !found || again || err != nil {
		t.Errorf("claims found %t, %t, %v", found, again, err)
	}
	if _, err := e.AwaitSandbox(t.Context(), wanted("ses_b"), "b"); err != nil {
		t.Error(err)
	}
	testutil.Create(t, e)
	want := yurt.TemplateCapacity{Template: testutil.Template().Name, Slots: 2, Claimed: 2, Own: 1, Cached: true, Claims: 1, Cold: 2, Refused: 1}
	until("all claimed", func(c yurt.Capacity, of yurt.TemplateCapacity) bool { return of == want && c.Sandboxes == 3 })
}
