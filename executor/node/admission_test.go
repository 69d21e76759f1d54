package node_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// callersOfACrowd is many times what a node makes at a time, and few enough for their sandboxes to be made within seconds.
const callersOfACrowd = 80

// crowd has as many callers create a small sandbox each, and returns how many were made and refused.
func crowd(t *testing.T, e *executor.Executor) (made, refused int) {
	t.Helper()
	var mu sync.Mutex
	var callers sync.WaitGroup
	for range callersOfACrowd {
		callers.Go(func() {
			spec := testutil.Spec()
			spec.Resources = yurt.Resources{CPU: 0.1, Memory: 16 << 20, Disk: 1 << 20, PIDs: 8}
			_, err := e.CreateSandbox(t.Context(), spec)
			mu.Lock()
			defer mu.Unlock()
			var coded *yurt.Error
			switch {
			case err == nil:
				made++
			case errors.As(err, &coded) && coded.Code == yurt.CodeOverloaded && coded.RetryAfter > 0:
				refused++
			default:
				t.Errorf("a create ended with %v", err)
			}
		})
	}
	callers.Wait()
	return made, refused
}

func limited(t *testing.T, change func(*executor.Config)) *executor.Executor {
	t.Helper()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	change(&config)
	return testutil.Start(t, config)
}

func TestCreatesWaitForEachOther(t *testing.T) {
	e := limited(t, func(c *executor.Config) { c.MaxCreates, c.MaxQueue = 3, callersOfACrowd-3 })
	if made, refused := crowd(t, e); made != callersOfACrowd || refused != 0 {
		t.Errorf("%d sandboxes were made, %d refused", made, refused)
	}
}

func TestSandboxesBeyondTheLimitAreRefused(t *testing.T) {
	e := limited(t, func(c *executor.Config) { c.MaxSandboxes = 20 })
	if made, refused := crowd(t, e); made != 20 || refused != callersOfACrowd-20 {
		t.Errorf("%d sandboxes were made, %d refused", made, refused)
	}
	list, err := e.Sandboxes(t.Context())
	if err != nil || len(list) != 20 {
		t.Fatalf("there are %d, %v", len(list), err)
	}
	if err := e.DestroySandbox(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "there is place again", func() bool {
		_, err := e.CreateSandbox(t.Context(), testutil.Spec())
		return err == nil
	})
}

func TestCreatesThatWouldWaitTooLongAreRefused(t *testing.T) {
	e := limited(t, func(c *executor.Config) { c.MaxCreates, c.MaxQueue = 1, 5 })
	made, refused := crowd(t, e)
	if made < 6 || refused == 0 || made+refused != callersOfACrowd {
		t.Errorf("%d sandboxes were made, %d refused", made, refused)
	}
	// A caller that gives up leaves its place to others.
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.CreateSandbox(ctx, testutil.Spec()); err == nil {
			t.Error("it was made for nobody")
		}
	}
	if _, err := e.CreateSandbox(t.Context(), testutil.Spec()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestOneSandboxOfAnID(t *testing.T) {
	e := testutil.Executor(t)
	spec := testutil.Spec()
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			_, err := e.CreateSandbox(t.Context(), spec)
			results <- err
		}()
	}
	made := 0
	for range cap(results) {
		switch err := <-results; yurt.CodeOf(err) {
		case "":
			made++
		case yurt.CodeInvalidArgument:
		default:
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d sandboxes have the same id", made)
	}
}

func TestExecutionsBeyondTheLimitAreRefused(t *testing.T) {
	e := limited(t, func(c *executor.Config) { c.MaxExecutions = 3 })
	first, second := testutil.Create(t, e), testutil.Create(t, e)
	running := []yurt.ExecutionSpec{testutil.Command("sleep 1000"), testutil.Command("sleep 1000"), testutil.Command("sleep 1000")}
	for i, spec := range running {
		if err := e.StartExecution(t.Context(), []string{first.ID, second.ID}[i%2], spec); err != nil {
			t.Fatal(err)
		}
	}
	err := e.StartExecution(t.Context(), second.ID, testutil.Command("true"))
	var coded *yurt.Error
	if !errors.As(err, &coded) || coded.Code != yurt.CodeOverloaded || coded.RetryAfter == 0 {
		t.Fatalf("a fourth: %v", err)
	}
	if err := e.SignalExecution(t.Context(), second.ID, running[1].ID, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitExecution(t.Context(), second.ID, running[1].ID); err != nil {
		t.Fatal(err)
	}
	// One that fails to start takes no place.
	for range 5 {
		wrong := testutil.Command("true", func(s *yurt.ExecutionSpec) { s.Cwd = "/none" })
		if err := e.StartExecution(t.Context(), second.ID, wrong); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("in a directory that is not there: %v", err)
		}
	}
	if r := testutil.Run(t, e, second.ID, "echo place", testutil.Timeout(time.Minute)); r.Stdout != "place\n" {
		t.Errorf("%+v", r)
	}
	if err := e.DestroySandbox(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	started := 0
	testutil.Eventually(t, "what ended with its sandbox takes no place", func() bool {
		if e.StartExecution(t.Context(), second.ID, testutil.Command("sleep 1000")) == nil {
			started++
		}
		return started == 3
	})
}
