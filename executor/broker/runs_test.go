package broker_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
)

// runRequests are the requests that name a run.
func runRequests(t *testing.T, b subject) map[string]func(sandboxID, runID string) error {
	return map[string]func(sandboxID, runID string) error{
		"NewRun": func(sandboxID, runID string) error {
			run, err := b.NewRun(sandboxID, broker.RunRequest{ID: runID})
			run.Close()
			return err
		},
		"NameRun": b.NameRun,
		"OpenRun": func(sandboxID, runID string) error {
			usage, err := b.OpenRun(sandboxID, runID)
			usage.Close()
			return err
		},
		"KillRun": func(sandboxID, runID string) error { return b.KillRun(t.Context(), sandboxID, runID) },
		"EndRun":  func(sandboxID, runID string) error { return endRun(b, sandboxID, runID) },
		"Ahead": func(sandboxID, runID string) error {
			_, err := b.NewRun(sandboxID, broker.RunRequest{ID: runID, Ahead: true})
			return err
		},
		"NewPlace": func(sandboxID, place string) error {
			entry, err := b.NewPlace(sandboxID, place)
			if err == nil {
				entry.Close()
			}
			return err
		},
		"TakePlace": func(sandboxID, place string) error {
			run, err := b.NewRun(sandboxID, broker.RunRequest{ID: yurt.NewExecutionID(), Place: place})
			run.Close()
			return err
		},
		"EndPlace": func(sandboxID, place string) error { return b.EndPlace(t.Context(), sandboxID, place) },
	}
}

// TestRunRequestsNameASandboxAndARun: requests for sandboxes and runs that are not on the list change no cgroup.
func TestRunRequestsNameASandboxAndARun(t *testing.T) { onBoth(t, testRunRequestsNameASandboxAndARun) }

func testRunRequestsNameASandboxAndARun(t *testing.T, b subject, groups *cgroup.Manager) {
	id, usage, _ := busySandbox(t, b, groups)
	neighbour, _, other := busySandbox(t, b, groups)
	const its = yurt.ExecutionIDPrefix + "its"
	beginRun(t, b, broker.RunRequest{ID: its}, neighbour, other)
	for name, ask := range runRequests(t, b) {
		for _, bad := range []string{"", ".", "..", "/", "spare", "tasks", "cgroup.procs", "exe_", "exe_../" + busyRun, busyRun + "/..", "../../" + neighbour + "/runs/" + its, "exe_\x00", "exe_" + strings.Repeat("a", 4096)} {
			if name == "TakePlace" && bad == "" {
				continue // a run with a cgroup of its own
			}
			if err := ask(id, bad); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
				t.Errorf("%s of the run %.50q: %v, want %s", name, bad, err, yurt.CodeInvalidArgument)
			}
		}
		for _, bad := range []string{"", "..", "../" + neighbour, neighbour + "/", "sbx_" + strings.Repeat("a", 4096)} {
			if err := ask(bad, busyRun); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
				t.Errorf("%s in the sandbox %.50q: %v, want %s", name, bad, err, yurt.CodeInvalidArgument)
			}
		}
		if err := ask(yurt.NewSandboxID(), busyRun); yurt.CodeOf(err) != yurt.CodeSandboxNotFound || !broker.Missing(err) {
			t.Errorf("%s in an unknown sandbox: %v, want %s", name, err, yurt.CodeSandboxNotFound)
		}
		if name == "NewRun" || name == "NewPlace" || name == "Ahead" {
			continue // of a run that is not there yet
		}
		if err := ask(id, its); yurt.CodeOf(err) != yurt.CodeExecutionNotFound || !broker.Missing(err) {
			t.Errorf("%s of a run of the neighbour: %v, want %s", name, err, yurt.CodeExecutionNotFound)
		}
	}
	if used(t, usage) == 0 {
		t.Error("a request for another run ended this one")
	}
	if n := countOf(t, b, neighbour, its); n != 1 {
		t.Errorf("the run of the neighbour has %d processes, want its one", n)
	}
	want := []string{busyRun}
	if runs := namesOf(t, b, id); !slices.Equal(runs, want) {
		t.Errorf("the sandbox has the runs %q, want %q", runs, want)
	}
}

func countOf(t *testing.T, b subject, sandboxID, runID string) int {
	t.Helper()
	gauge, err := b.Gauge(sandboxID)
	if err != nil {
		t.Fatal(err)
	}
	n, err := gauge.Count(runID)
	if err != nil {
		t.Error(err)
	}
	return n
}

// namesOf lists the runs of a sandbox, without the cgroup that is made ahead.
func namesOf(t *testing.T, b subject, sandboxID string) []string {
	t.Helper()
	gauge, err := b.Gauge(sandboxID)
	if err != nil {
		t.Fatal(err)
	}
	names, err := gauge.Leaves()
	if err != nil {
		t.Error(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "spare") })
}

// TestRunLives: a run is made once, killed alone and removed; a later broker finds it by its name.
func TestRunLives(t *testing.T) { onBoth(t, testRunLives) }

func testRunLives(t *testing.T, b subject, groups *cgroup.Manager) {
	id, usage, program := busySandbox(t, b, groups)
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bystander.Process.Kill(); _ = bystander.Wait() })
	const beside = yurt.KernelIDPrefix + "beside"
	beginRun(t, b, broker.RunRequest{ID: beside}, id, bystander)
	if _, err := b.NewRun(id, broker.RunRequest{ID: busyRun}); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("making it again: %v, want %s", err, yurt.CodeInvalidArgument)
	}
	later := broker.NewLocal(b.local.Config)
	again, err := later.OpenRun(id, busyRun)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if used(t, usage) == 0 || used(t, again) == 0 {
		t.Error("it uses no processor, by one of the brokers")
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	if err := later.KillRun(t.Context(), id, busyRun); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the program ended by itself")
	}
	if n := countOf(t, b, id, beside); n != 1 {
		t.Errorf("the run beside it has %d processes, want 1", n)
	}
	if err := endRun(b, id, busyRun); err != nil {
		t.Fatal(err)
	}
	if err := b.KillRun(t.Context(), id, busyRun); !broker.Missing(err) {
		t.Errorf("killing it after its end: %v", err)
	}
	if runs := namesOf(t, b, id); !slices.Equal(runs, []string{beside}) {
		t.Errorf("the sandbox has the runs %q, want %s alone", runs, beside)
	}
}

// TestForget: a new executor finds the runs that have a name, and a run that its predecessor had only begun keeps no run from its name.
func TestForget(t *testing.T) { onBoth(t, testForget) }

func testForget(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, program := busySandbox(t, b, groups)
	const begun = yurt.ExecutionIDPrefix + "begun"
	if err := ask(b, id, yurt.ExecutionIDPrefix+"first"); err != nil { // after which a cgroup is made ahead
		t.Fatal(err)
	}
	run, err := b.NewRun(id, broker.RunRequest{ID: begun})
	if err != nil {
		t.Fatal(err)
	}
	run.Close()
	if err := ask(b, id, begun); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("making it again: %v, want %s", err, yurt.CodeInvalidArgument)
	}
	b.local.Forget()
	if err := ask(b, id, begun); err != nil {
		t.Errorf("making a run that was begun before: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	if err := errors.Join(b.KillRun(t.Context(), id, busyRun), endRun(b, id, busyRun)); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the program ended by itself")
	}
}

// TestEndedRunWithProcesses: a run that has ended and left a process goes with the end of another run, once that process has ended.
func TestEndedRunWithProcesses(t *testing.T) { onBoth(t, testEndedRunWithProcesses) }

func testEndedRunWithProcesses(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, program := busySandbox(t, b, groups)
	if err := endRun(b, id, busyRun); err != nil {
		t.Fatal(err)
	}
	if runs := namesOf(t, b, id); !slices.Equal(runs, []string{busyRun}) {
		t.Errorf("with a process in it, the runs are %q, want %s", runs, busyRun)
	}
	_ = program.Process.Kill()
	_ = program.Wait()
	const second = yurt.ExecutionIDPrefix + "second"
	if err := ask(b, id, second); err != nil {
		t.Fatal(err)
	}
	if runs := namesOf(t, b, id); len(runs) != 0 {
		t.Errorf("there are the runs %q, want none", runs)
	}
}

// endRun ends a run, and closes the files of the next one.
func endRun(b subject, sandboxID, runID string) error {
	next, err := b.EndRun(sandboxID, runID)
	next.Close()
	return err
}

// ask makes a run and ends it.
func ask(b subject, sandboxID, runID string) error {
	run, err := b.NewRun(sandboxID, broker.RunRequest{ID: runID})
	if err != nil {
		return err
	}
	defer run.Close()
	return errors.Join(b.NameRun(sandboxID, runID), endRun(b, sandboxID, runID))
}

// TestPlaces: a run takes a place with the process that waits there, once. On version 1 there are no places.
func TestPlaces(t *testing.T) { onBoth(t, testPlaces) }

func testPlaces(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, program := busySandbox(t, b, groups)
	const place, run = broker.ZygotePrefix + "c++-1.WAITS", yurt.ExecutionIDPrefix + "taker"
	entry, err := b.NewPlace(id, place)
	if groups.Version() == 1 {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("making a place: %v, want %v", err, errors.ErrUnsupported)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	entry.Close()
	beginRun(t, b, broker.RunRequest{ID: run, Place: place}, id, program)
	if _, err := b.NewRun(id, broker.RunRequest{ID: yurt.NewExecutionID(), Place: place}); err == nil {
		t.Error("another run took the place too")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- program.Wait() }()
	if err := b.KillRun(ctx, id, run); err != nil {
		t.Fatal(err)
	}
	<-waited
	if err := endRun(b, id, run); err != nil {
		t.Fatal(err)
	}
	if err := b.EndPlace(ctx, id, place); !broker.Missing(err) {
		t.Errorf("ending the place of a run that has ended: %v", err)
	}
}

// TestListEndsWithTheSandbox: requests for a sandbox that has ended are refused.
func TestListEndsWithTheSandbox(t *testing.T) { onBoth(t, testListEndsWithTheSandbox) }

func testListEndsWithTheSandbox(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	if err := b.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := b.NewRun(id, broker.RunRequest{ID: busyRun}); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("a run in it: %v, want %s", err, yurt.CodeSandboxNotFound)
	}
	if _, err := b.Gauge(id); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("its gauge: %v, want %s", err, yurt.CodeSandboxNotFound)
	}
	if names, err := groups.Names(); err != nil || slices.Contains(names, id) {
		t.Errorf("there are the cgroups %q, %v", names, err)
	}
}

// TestAlarmGoesOffWhenMemoryIsShort: and not before.
func TestAlarmGoesOffWhenMemoryIsShort(t *testing.T) { onBoth(t, testAlarmGoesOffWhenMemoryIsShort) }

func testAlarmGoesOffWhenMemoryIsShort(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	wait := func(limit time.Duration) error {
		alarm, err := b.WatchMemory(id)
		if err != nil {
			t.Fatal(err)
		}
		defer alarm.Close()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return alarm.Wait(ctx)
	}
	if err := wait(200 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with memory left: %v, want %v", err, context.DeadlineExceeded)
	}
	hungry := exec.Command("sh", "-c", "read go; exec tail /dev/zero")
	begin, err := hungry.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hungry.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hungry.Process.Kill(); _ = hungry.Wait() })
	const run = yurt.ExecutionIDPrefix + "hungry"
	beginRun(t, b, broker.RunRequest{ID: run}, id, hungry)
	alarmed := make(chan error, 1)
	go func() { alarmed <- wait(20 * time.Second) }()
	time.Sleep(100 * time.Millisecond) // it watches before memory is short
	begin.Close()
	if err := <-alarmed; err != nil {
		t.Fatal(err)
	}
}
