package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// succession starts an executor that others will follow on the same state directory. At the end of the test one more
// of them removes the remaining sandboxes.
func succession(t *testing.T) (config executor.Config, first *executor.Executor, leave func()) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	config = testutil.Config(t, testutil.Build(t))
	t.Cleanup(func() {
		last, err := executor.New(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.WithoutCancel(t.Context()) // which is done by now
		if err := errors.Join(last.Start(ctx), last.DestroyAll(ctx), last.Close()); err != nil {
			t.Error(err)
		}
		testutil.CheckNothingLeft(t, config.StateDir)
	})
	first = testutil.Open(t, config)
	return config, first, leaves(t, first)
}

// leaves returns a function that closes the executor, at the end of the test at the latest.
func leaves(t *testing.T, e *executor.Executor) (leave func()) {
	t.Helper()
	leave = sync.OnceFunc(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(leave)
	return leave
}

// follow starts the next executor, which waits so long for silent inits. It must have begun
// sooner than it would have waited for one.
func follow(t *testing.T, config executor.Config, patience time.Duration) (e *executor.Executor, leave func()) {
	t.Helper()
	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	leave = leaves(t, e)
	node.LimitAdoption(e.Node, patience)
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
	defer cancel()
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return e, leave
}

// silence stops the init of the sandbox until goOn is called, or the test is over.
func silence(t *testing.T, s yurt.Sandbox) (goOn func()) {
	t.Helper()
	init, err := unix.PidfdOpen(s.PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.PidfdSendSignal(init, unix.SIGSTOP, nil, 0); err != nil {
		t.Fatal(err)
	}
	goOn = sync.OnceFunc(func() {
		_ = unix.PidfdSendSignal(init, unix.SIGCONT, nil, 0) // it may have ended
		unix.Close(init)
	})
	t.Cleanup(goOn)
	return goOn
}

// TestSilentInitsKeepNobodyWaiting: the executor waits for all silent inits at once, even if they are more than it
// takes over at a time. Meanwhile the node serves the other sandboxes and can end a silent one. Requests to a silent
// sandbox are carried out when its init answers, in any order of the inits.
func TestSilentInitsKeepNobodyWaiting(t *testing.T) {
	config, first, leave := succession(t)
	open(t, first, room("warm"))
	warm := awaitSlot(t, first, "warm", yurt.SlotReady)
	open(t, first, room("own", forSession("ses_own")))
	own, err := first.AwaitSandbox(t.Context(), wanted("ses_own"), "own")
	if err != nil {
		t.Fatal(err)
	}
	for range node.Adoptions + 2 {
		testutil.Create(t, first)
	}
	healthy := testutil.Create(t, first)
	list, err := first.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goOn := map[string]func(){}
	for _, s := range list {
		if s.ID != healthy.ID {
			goOn[s.ID] = silence(t, s)
		}
	}
	leave()

	e, _ := follow(t, config, time.Hour)
	if r := testutil.Run(t, e, healthy.ID, "echo works on"); r.Stdout != "works on\n" {
		t.Errorf("the healthy one says %+v", r)
	}
	if now, err := e.Sandboxes(t.Context()); err != nil || len(now) != len(list) {
		t.Errorf("there are %d sandboxes of %d, %v", len(now), len(list), err)
	}
	spec := testutil.Spec()
	spec.ID = own.ID
	if _, err := e.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("a sandbox of the same id: %v", err)
	}
	awaitSlot(t, e, "warm", yurt.SlotMaking)
	awaitSlot(t, e, "own", yurt.SlotClaimed)
	if _, found, err := e.ClaimSandbox(t.Context(), wanted("ses_1")); found || err != nil {
		t.Errorf("a silent one was handed out: %t, %v", found, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := e.Processes(short, own.ID); err == nil || !strings.Contains(err.Error(), "has not answered yet") {
		t.Errorf("who has not the time to wait for a silent one is told %v", err)
	}

	var asked errgroup.Group
	asked.Go(func() error {
		s, err := e.AwaitSandbox(t.Context(), wanted("ses_own"), "own") // its answer was lost
		if err == nil && s.ID != own.ID {
			err = fmt.Errorf("the session has %s now", s.ID)
		}
		return err
	})
	asked.Go(func() error {
		s, err := e.AwaitSandbox(t.Context(), wanted("ses_1"), "warm")
		if err == nil && s.ID != warm.SandboxID {
			err = fmt.Errorf("the slot had another sandbox, %s", s.ID)
		}
		return err
	})
	var ended bool
	for _, s := range list {
		if s.ID == healthy.ID || s.Slot != "" {
			continue
		}
		if !ended {
			ended = true
			destroySilent(t, e, s)
			continue
		}
		asked.Go(func() error { return echo(t.Context(), e, s.ID) })
	}
	for _, goOn := range goOn { // in any order
		goOn()
	}
	if err := asked.Wait(); err != nil {
		t.Error(err)
	}
}

// destroySilent destroys a sandbox while its init is waited for.
func destroySilent(t *testing.T, e *executor.Executor, s yurt.Sandbox) {
	t.Helper()
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	if err := echo(t.Context(), e, s.ID); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("in a silent one that was destroyed something was started: %v", err)
	}
	testutil.Eventually(t, "it is removed", func() bool { return !running(s.PID) })
}

// echo runs something in a sandbox, from any goroutine.
func echo(ctx context.Context, e *executor.Executor, sandbox string) error {
	spec := testutil.Command("echo on")
	if err := e.StartExecution(ctx, sandbox, spec); err != nil {
		return err
	}
	r, err := e.WaitExecution(ctx, sandbox, spec.ID)
	if err == nil && r.Stdout != "on\n" {
		err = fmt.Errorf("sandbox %s says %+v", sandbox, r)
	}
	return err
}

// TestSilentInitsAreGivenUp: each is given up once and with the reason. A sandbox without an owner is made again.
func TestSilentInitsAreGivenUp(t *testing.T) {
	config, first, leave := succession(t)
	open(t, first, room("warm"))
	open(t, first, room("once", once))
	warm, taken := awaitSlot(t, first, "warm", yurt.SlotReady), awaitSlot(t, first, "once", yurt.SlotReady)
	if _, err := first.AwaitSandbox(t.Context(), wanted("ses_1"), "once"); err != nil {
		t.Fatal(err)
	}
	testutil.Create(t, first)
	testutil.Create(t, first)
	list, err := first.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		silence(t, s)
	}
	leave()

	e, _ := follow(t, config, testutil.Moment(t, 5*time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	died := make(chan yurt.Sandbox, 16)
	watching := make(chan error, 1)
	go func() { watching <- e.WatchSandboxes(ctx, func(dead yurt.Sandbox) { died <- dead }) }()
	testutil.Eventually(t, "it is watched", func() bool { return node.Watchers(e.Node) == 1 })
	for _, s := range list {
		err := echo(t.Context(), e, s.ID)
		if s.ID != warm.SandboxID && (yurt.CodeOf(err) != yurt.CodeSandboxFailed || !strings.Contains(err.Error(), "its init did not answer within")) {
			t.Errorf("%s: %v", s.ID, err)
		}
	}
	if s := awaitSlot(t, e, "warm", yurt.SlotReady); s.SandboxID == warm.SandboxID {
		t.Errorf("a slot keeps what was given up: %+v", s)
	}
	if s := awaitSlot(t, e, "once", yurt.SlotEnded); !strings.Contains(s.Reason, "its init did not answer within") {
		t.Errorf("the slot of %s ended as %+v", taken.SandboxID, s)
	}
	if err := e.DestroyAll(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	<-watching
	told := map[string]int{}
	for range len(died) {
		dead := <-died
		told[dead.ID]++
		if !strings.Contains(dead.Reason, "it could not be taken over: its init did not answer within") {
			t.Errorf("it was told of %+v", dead)
		}
	}
	for _, s := range list {
		if told[s.ID] != 1 {
			t.Errorf("that %s died was told %d times", s.ID, told[s.ID])
		}
	}
}

// TestSilentInitIsLeftToTheNext executor when one is closed before it has answered.
func TestSilentInitIsLeftToTheNext(t *testing.T) {
	config, first, leave := succession(t)
	s := testutil.Create(t, first)
	spec := testutil.Command("sleep 1; echo done")
	if err := first.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	goOn := silence(t, s)
	leave()

	e, leave := follow(t, config, time.Hour)
	waited := make(chan error, 1)
	go func() {
		_, err := e.WaitExecution(t.Context(), s.ID, spec.ID)
		waited <- err
	}()
	leave()
	if err := <-waited; yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("who waited was told %v", err)
	}
	goOn()

	e, _ = follow(t, config, time.Hour)
	if r := testutil.Wait(t, e, s.ID, spec.ID); r.Stdout != "done\n" || r.Error != nil {
		t.Errorf("it ended as %+v, %+v", r, r.Error)
	}
}

// TestInitThatFallsSilentIsLeftToTheNext: an executor draws no conclusion from answers for which it did not wait.
func TestInitThatFallsSilentIsLeftToTheNext(t *testing.T) {
	for _, spec := range []yurt.ExecutionSpec{testutil.Command("exec sleep 300"), testutil.Cell("import time\ntime.sleep(300)")} {
		t.Run(string(spec.Kind), func(t *testing.T) {
			config, first, leave := succession(t)
			s := testutil.Create(t, first)
			if err := first.StartExecution(t.Context(), s.ID, spec); err != nil {
				t.Fatal(err)
			}
			testutil.Eventually(t, "it runs", func() bool {
				processes, err := first.Processes(t.Context(), s.ID)
				return err == nil && len(processes) > 0
			})
			asked := make(chan struct{}, 16)
			testutil.TakeOver(t, first, config.StateDir, s.ID, func(conn net.Conn) error {
				if frame, err := initd.NewReader(conn).Next(); err != nil || frame.Kind != initd.KindPing {
					asked <- struct{}{}
					return err
				}
				_, err := conn.Write(initd.AppendFrame(nil, initd.KindOK, nil))
				return err
			})
			leave()
			before := processesOf(t, config.StateDir, s.ID)

			_, leave = follow(t, config, time.Hour)
			<-asked
			leave()
			if now := processesOf(t, config.StateDir, s.ID); now != before {
				t.Errorf("the sandbox had processes\n%s, and has\n%s", before, now)
			}

			e, _ := follow(t, config, testutil.Moment(t, 3*time.Second))
			if r := testutil.Wait(t, e, s.ID, spec.ID); r.Error == nil || strings.Contains(r.Error.Message, "cancel") {
				t.Errorf("it ended as %+v, %+v", r, r.Error)
			}
		})
	}
}

// processesOf lists the processes in the cgroups of a sandbox.
func processesOf(t *testing.T, stateDir, sandbox string) string {
	t.Helper()
	var all strings.Builder
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/pids"} {
		dir := filepath.Join(root, statedir.CgroupName(stateDir), sandbox)
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != "cgroup.procs" {
				return nil //nolint:nilerr // it is of the other version, or goes just now
			}
			text, err := os.ReadFile(filepath.Join(dir, path))
			if len(text) > 0 {
				fmt.Fprintf(&all, "%s: %q\n", path, text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// TestExecutionOfANewerVersionIsLeftAlone, with its sandbox: the node refuses to begin.
func TestExecutionOfANewerVersionIsLeftAlone(t *testing.T) {
	config, first, leave := succession(t)
	dead, s := testutil.Create(t, first), testutil.Create(t, first)
	leave()
	testutil.Kill(t, dead.PID)
	dir := filepath.Join(statedir.RunDir("", config.StateDir), "sandboxes")
	path := filepath.Join(dir, s.ID, "runs", yurt.NewExecutionID())
	log, err := runlog.Create(runlog.Place{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(runlog.Entry{Kind: runlog.Started, At: time.Now(), Data: []byte(`{"version":99,"id":"?"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(runlog.Entry{Kind: 99, At: time.Now()}); err != nil { // which this one does not know
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	err = e.Start(t.Context())
	if yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), s.ID) || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("it starts: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, written) {
		t.Errorf("the log has changed: %q, %v", now, err)
	}
	if _, err := os.Stat(filepath.Join(dir, dead.ID)); err != nil {
		t.Errorf("it has removed another sandbox: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	e, _ = follow(t, config, time.Hour)
	if err := echo(t.Context(), e, s.ID); err != nil {
		t.Error(err)
	}
}
