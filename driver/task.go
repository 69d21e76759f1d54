package driver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/node"
	"github.com/yurtrun/yurt/executor/api"
)

// handleVersion is that of [handle]. An older one is read on; a newer one is refused.
const handleVersion = 1

// handle is Nomad's record of a task for this driver, to find it again: its config block does not come back.
type handle struct {
	Version   int        `json:"version"`
	Sandbox   string     `json:"sandbox,omitempty"`
	Execution string     `json:"execution,omitempty"`
	Slot      string     `json:"slot,omitempty"` // instead of those
	User      *yurt.User `json:"user,omitempty"`
	Cwd       string     `json:"cwd,omitempty"`
	StartedAt time.Time  `json:"started_at"`
}

func (h handle) encode() ([]byte, error) { return json.Marshal(h) }

func decodeHandle(data []byte) (h handle, err error) {
	if err := json.Unmarshal(data, &h); err != nil {
		return h, yurt.Errorf(yurt.CodeInvalidArgument, "reading the handle of a task: %w", err)
	}
	if h.Version < 1 || h.Version > handleVersion {
		return h, yurt.Errorf(yurt.CodeUnavailable, "the handle of a task is in version %d, and this driver knows %d; put the newer driver back", h.Version, handleVersion)
	}
	if h.Slot == "" && (!yurt.ValidID(yurt.SandboxIDPrefix, h.Sandbox) || !yurt.ValidID(yurt.ExecutionIDPrefix, h.Execution)) {
		return h, yurt.Errorf(yurt.CodeInvalidArgument, "the handle of a task names neither a sandbox and an execution nor a slot")
	}
	return h, nil
}

// task is a task that this process knows of.
type task struct {
	id, name, allocID string
	handle            handle
	node              *node.Executor

	mu   sync.Mutex
	exit *exit // once it is known
}

// exit is how a task ended.
type exit struct {
	result  *drivers.ExitResult
	message string // for the task's event, where the result does not say it all
	at      time.Time
}

func newTask(config *drivers.TaskConfig, h handle, n *node.Executor) *task {
	return &task{id: config.GetId(), name: config.GetName(), allocID: config.GetAllocId(), handle: h, node: n}
}

// wait returns how the task ended, once it has. It may be called by any number, and again.
func (t *task) wait(ctx context.Context) (exit, error) {
	if e := t.known(); e != nil {
		return *e, nil
	}
	e, err := t.waitForEnd(ctx)
	if err != nil {
		return exit{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exit == nil {
		t.exit = &e
	}
	return *t.exit, nil
}

// known is how the task ended, nil as long as no call has waited for that.
func (t *task) known() *exit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit
}

func (t *task) waitForEnd(ctx context.Context) (e exit, err error) {
	if t.handle.Slot != "" {
		result, err := t.waitForSlot(ctx)
		return exit{result: result, at: time.Now()}, err
	}
	err = t.node.Call(ctx, func(c *api.Client) error {
		result, err := c.AwaitExecution(ctx, t.handle.Sandbox, t.handle.Execution)
		if err == nil {
			e = exit{exitOf(result), messageOf(result), result.EndedAt}
		}
		return err
	})
	if gone(err) {
		return exit{
			&drivers.ExitResult{ExitCode: yurt.ExecutionExitSignal + int32(yurt.SignalKill), Signal: int32(yurt.SignalKill)},
			"the executor has no such sandbox any more: it was destroyed by hand, or the node lost its state", time.Now(),
		}, nil
	}
	return e, err
}

// messageOf returns the text that Nomad shows beside the exit code. The task's own program has no
// part in it.
func messageOf(result *yurt.Result) string {
	if result.Error == nil {
		return ""
	}
	switch result.Error.Type {
	case yurt.ErrorTypeOutOfMemory: // in the words of Nomad's Docker driver, which are looked for
		return "OOM Killed"
	case yurt.ErrorTypeSandboxLost:
		return result.Error.Message
	default:
		return ""
	}
}

// exitOf is the result of an execution as Nomad has it.
func exitOf(result *yurt.Result) *drivers.ExitResult {
	exit := &drivers.ExitResult{ExitCode: int32(result.ExitCode)}
	if result.Error == nil {
		return exit
	}
	switch result.Error.Type {
	case yurt.ErrorTypeOutOfMemory:
		exit.OomKilled = true
		exit.Signal = int32(yurt.SignalKill)
	case yurt.ErrorTypeSignaled, yurt.ErrorTypeSandboxLost:
		exit.Signal = int32(result.ExitCode - yurt.ExecutionExitSignal)
	}
	return exit
}
