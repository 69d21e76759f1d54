package broker_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
)

// allLeaves lists the cgroups of all runs of a sandbox, with the one that is made ahead.
func allLeaves(t *testing.T, b subject, sandboxID string) []string {
	t.Helper()
	gauge, err := b.Gauge(sandboxID)
	if err != nil {
		t.Fatal(err)
	}
	names, err := gauge.Leaves()
	if err != nil {
		t.Error(err)
	}
	slices.Sort(names)
	return names
}

// endsOne makes a run, ends it and returns the files of the next one.
func endsOne(t *testing.T, b subject, sandboxID string) broker.Run {
	t.Helper()
	id := yurt.NewExecutionID()
	run, err := b.NewRun(sandboxID, broker.RunRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	run.Close()
	next, err := b.EndRun(sandboxID, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	return next
}

// endsAll ends the run of a busy sandbox, and returns the files of the next one.
func endsAll(t *testing.T, b subject, sandboxID string) broker.Run {
	t.Helper()
	if err := b.KillRun(t.Context(), sandboxID, busyRun); err != nil {
		t.Fatal(err)
	}
	next, err := b.EndRun(sandboxID, busyRun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	return next
}

// sleeper starts a program that sleeps.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	program := exec.Command("sleep", "60")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	t.Cleanup(func() { _ = program.Process.Kill(); <-ended })
	return program
}

// TestOneCgroupAhead: a sandbox has one cgroup ahead at most. One run takes it, once, and is then a run like any other.
func TestOneCgroupAhead(t *testing.T) { onBoth(t, testOneCgroupAhead) }

func testOneCgroupAhead(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	program := sleeper(t)
	const taker = yurt.ExecutionIDPrefix + "taker"
	enter := func(runID string) error {
		none, err := b.NewRun(id, broker.RunRequest{ID: runID, Ahead: true})
		if len(none.Birth) > 0 || none.Usage != nil {
			t.Error("a run in the cgroup that was made ahead gets files again")
		}
		return err
	}
	if err := enter(taker); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("entering a run without a cgroup ahead: %v, want %s", err, yurt.CodeInvalidArgument)
	}
	if next := endsOne(t, b, id); next.Usage != nil {
		t.Error("a cgroup is made ahead for the executor while a run goes on")
	}
	next := endsAll(t, b, id)
	if next.Usage == nil || used(t, next.Usage) != 0 {
		t.Fatalf("the next run has the files %+v, want those of a new cgroup", next)
	}
	for range 3 {
		if more := endsOne(t, b, id); more.Usage != nil || len(more.Birth) > 0 {
			t.Error("while the executor has the files of a cgroup ahead, it gets others")
		}
	}
	if names := allLeaves(t, b, id); len(names) != 1 || !strings.HasPrefix(names[0], "spare") {
		t.Errorf("the sandbox has the cgroups %q, want one ahead", names)
	}
	if err := enter(taker); err != nil {
		t.Fatal(err)
	}
	if err := enter(taker); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("entering a run that is there: %v, want %s", err, yurt.CodeInvalidArgument)
	}
	if err := enter(yurt.NewExecutionID()); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("entering a second run there: %v, want %s", err, yurt.CodeInvalidArgument)
	}
	if names := allLeaves(t, b, id); !slices.Equal(names, []string{taker}) {
		t.Errorf("the sandbox has the cgroups %q, want that of its run", names)
	}
	moveInto(t, b, next, program)
	if n := countOf(t, b, id, taker); n != 1 {
		t.Errorf("the run has %d processes, want its one", n)
	}
	if err := b.KillRun(t.Context(), id, taker); err != nil {
		t.Fatal(err)
	}
	if err := endRun(b, id, taker); err != nil {
		t.Fatal(err)
	}
}

// TestCgroupAheadAfterARestart: the next executor finds a run that began in the cgroup ahead and had no name yet, and the one that no run
// has used is replaced.
func TestCgroupAheadAfterARestart(t *testing.T) { onBoth(t, testCgroupAheadAfterARestart) }

func testCgroupAheadAfterARestart(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	if next := endsAll(t, b, id); next.Usage == nil {
		t.Fatal("no cgroup is made ahead")
	}
	b.local.Forget()
	next := endsOne(t, b, id)
	if names := allLeaves(t, b, id); next.Usage == nil || len(names) != 1 {
		t.Fatalf("after a restart the sandbox has the cgroups %q, want a new one ahead", names)
	}
	moveInto(t, b, next, sleeper(t))
	b.local.Forget()
	if more := endsOne(t, b, id); more.Usage != nil {
		t.Error("another cgroup is made ahead while the last one has a process and no name")
	}
	const begun = yurt.ExecutionIDPrefix + "begun"
	if err := b.NameRun(id, begun); err != nil {
		t.Fatal(err)
	}
	if n := countOf(t, b, id, begun); n != 1 {
		t.Errorf("the run has %d processes, want its one", n)
	}
	if more := endsOne(t, b, id); more.Usage == nil {
		t.Error("no cgroup is made ahead once the last one has its name")
	}
}
