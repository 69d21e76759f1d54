package driver

import (
	"context"
	"strings"
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/drivertest"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/testutil"
)

// older is an executor of before there were host names.
type older struct{ api.Node }

func (o older) CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	if spec.Host.Hostname != "" {
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeMalformedBody, "the specification cannot be read: json: unknown field \"hostname\"")
	}
	return o.Node.CreateSandbox(ctx, spec)
}

// TestHostnameOfAnOlderExecutor: the driver of a newer version starts tasks on it.
func TestHostnameOfAnOlderExecutor(t *testing.T) {
	d := driverOf(t, older{testutil.Executor(t)})
	server := &driverServer{driver: d}
	task := drivertest.Allocated(t, drivertest.Task(t, `{"command":"sleep","args":["1000"]}`))
	if _, err := server.StartTask(t.Context(), &drivers.StartTaskRequest{Task: task}); err != nil {
		t.Fatal(err)
	}
	named := drivertest.Allocated(t, drivertest.Task(t, `{"command":"sleep","args":["1000"],"hostname":"a"}`))
	named.Id = "alloc/named/1"
	if _, err := server.StartTask(t.Context(), &drivers.StartTaskRequest{Task: named}); err == nil || !strings.Contains(err.Error(), "hostname") {
		t.Errorf("a name that the job asks for: %v", err)
	}
}
