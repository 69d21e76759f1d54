package driver

import (
	"context"
	"log/slog"
	"testing"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt/driver/internal/drivertest"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/testutil"
)

// driverOf is a driver whose node's executor is e.
func driverOf(t *testing.T, e api.Node) *Driver {
	t.Helper()
	config := pluginconfig.Config{StateDir: t.TempDir()}
	listener, err := api.ListenUnix(t.Context(), config.Socket())
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer(api.ServerConfig{Node: e, Name: "test", Version: "v1", Logger: slog.New(slog.DiscardHandler)})
	server.ServeUnix(listener)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	d := newDriver(context.Background(), "v1", slog.New(slog.DiscardHandler))
	t.Cleanup(d.close)
	d.configure(config)
	return d
}

// testDriver is a driver with that plugin block and no executor.
func testDriver(config pluginconfig.Config) *Driver {
	d := newDriver(context.Background(), "test", slog.New(slog.DiscardHandler))
	d.configure(config)
	return d
}

// TestInspect: how a task is does not depend on somebody waiting for it.
func TestInspect(t *testing.T) {
	testutil.NeedsSandboxes(t)
	server := &driverServer{driver: driverOf(t, testutil.Executor(t))}
	inspect := func(task *drivers.TaskConfig) *drivers.TaskStatus {
		t.Helper()
		answer, err := server.InspectTask(t.Context(), &drivers.InspectTaskRequest{TaskId: task.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetTask()
	}
	start := func(id, line string) *drivers.TaskConfig {
		t.Helper()
		task := drivertest.Allocated(t, drivertest.Task(t, `{"command":"sh","args":["-c","`+line+`"]}`))
		task.Id = id
		if _, err := server.StartTask(t.Context(), &drivers.StartTaskRequest{Task: task}); err != nil {
			t.Fatal(err)
		}
		return task
	}
	short, long := start("alloc/short/1", "exit 3"), start("alloc/long/1", "sleep 1000")
	var ended *drivers.TaskStatus
	testutil.Eventually(t, "the end of a task is seen", func() bool {
		ended = inspect(short)
		return ended.GetState() == drivers.TaskState_EXITED
	})
	if ended.GetResult().GetExitCode() != 3 || ended.GetCompletedAt().AsTime().Before(ended.GetStartedAt().AsTime()) {
		t.Errorf("the task that ended is %v", ended)
	}
	if again := inspect(short); !again.GetCompletedAt().AsTime().Equal(ended.GetCompletedAt().AsTime()) {
		t.Errorf("it ended at %v, and at %v", ended.GetCompletedAt().AsTime(), again.GetCompletedAt().AsTime())
	}
	if status := inspect(long); status.GetState() != drivers.TaskState_RUNNING || status.GetResult() != nil {
		t.Errorf("the task that runs is %v", status)
	}
}
