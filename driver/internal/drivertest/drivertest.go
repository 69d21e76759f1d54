// Package drivertest makes tasks as Nomad sends them, for the tests of the driver.
package drivertest

import (
	"os"
	"path/filepath"
	"testing"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// Packed is a config block as Nomad sends it, from JSON.
func Packed(t testing.TB, text string) []byte {
	t.Helper()
	kind, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := ctyjson.Unmarshal([]byte(text), kind)
	if err != nil {
		t.Fatal(err)
	}
	data, err := msgpack.Marshal(value, kind)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Task is a task with the config block, from JSON.
func Task(t testing.TB, config string) *drivers.TaskConfig {
	t.Helper()
	return &drivers.TaskConfig{
		Id: "0f9ff0ab-4c49-4e7e-a1ea-d4b3b30c7f84/web/5b6a1c1e", Name: "web", AllocId: "0f9ff0ab-4c49-4e7e-a1ea-d4b3b30c7f84",
		MsgpackDriverConfig: Packed(t, config), AllocDir: "/var/lib/nomad/alloc/0f9ff0ab",
		StdoutPath: "/var/lib/nomad/alloc/0f9ff0ab/alloc/logs/.web.stdout.fifo",
		Env:        map[string]string{"NOMAD_TASK_NAME": "web", "SECRET": "s"},
		Resources: &drivers.Resources{LinuxResources: &drivers.LinuxResources{
			CpuShares: 500, MemoryLimitBytes: 64 << 20, PercentTicks: 0.1,
		}},
	}
}

// Allocated has Nomad's directories made for a task, and no log files.
func Allocated(t testing.TB, task *drivers.TaskConfig) *drivers.TaskConfig {
	t.Helper()
	task.AllocDir = t.TempDir()
	task.StdoutPath, task.StderrPath = os.DevNull, os.DevNull
	for _, dir := range []string{"alloc", filepath.Join(task.GetName(), "local"), filepath.Join(task.GetName(), "secrets")} {
		if err := os.MkdirAll(filepath.Join(task.GetAllocDir(), dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return task
}
