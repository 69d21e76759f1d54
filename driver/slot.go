package driver

import (
	"context"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/node"
	"github.com/yurtrun/yurt/executor/api"
)

// open opens the slot. The task runs from here on, also before its sandbox is ready: the placer hears that from the node.
func open(ctx context.Context, n *node.Executor, spec yurt.SlotSpec) (handle, error) {
	h := handle{Version: handleVersion, Slot: spec.ID, StartedAt: time.Now()}
	return h, n.Call(ctx, func(c *api.Client) error {
		_, err := c.OpenSlot(ctx, spec)
		return err
	})
}

// findSlot returns the task's slot.
func (t *task) findSlot(ctx context.Context, c *api.Client) (yurt.Slot, error) {
	slots, err := c.Slots(ctx)
	if err != nil {
		return yurt.Slot{}, err
	}
	for _, slot := range slots {
		if slot.ID == t.handle.Slot {
			return slot, nil
		}
	}
	return yurt.Slot{}, yurt.Errorf(yurt.CodeNotFound, "this node has no slot %s any more, as after a restart of the machine", t.handle.Slot)
}

func (t *task) slotPresent(ctx context.Context) error {
	return t.node.Call(ctx, func(c *api.Client) error {
		_, err := t.findSlot(ctx, c)
		return err
	})
}

// waitForSlot returns when the slot has ended. One that could make no sandbox has failed.
func (t *task) waitForSlot(ctx context.Context) (exit *drivers.ExitResult, err error) {
	err = t.node.Call(ctx, func(c *api.Client) error {
		slot, err := c.WaitSlot(ctx, t.handle.Slot)
		if err == nil {
			exit = &drivers.ExitResult{}
			if slot.Failed {
				exit.ExitCode = 1
			}
		}
		return err
	})
	if gone(err) { // it was closed
		return &drivers.ExitResult{}, nil
	}
	return exit, err
}

// closeSlot ends the slot and the sandbox in it.
func (t *task) closeSlot(ctx context.Context) error {
	return t.node.Call(ctx, func(c *api.Client) error { return c.CloseSlot(ctx, t.handle.Slot) })
}

// slotStats is the use of the slot's present sandbox.
func (t *task) slotStats(ctx context.Context) (stats yurt.SandboxStats, err error) {
	err = t.node.Call(ctx, func(c *api.Client) error {
		slot, err := t.findSlot(ctx, c)
		if err != nil {
			return err
		}
		if slot.SandboxID == "" { // it is being made
			stats = yurt.SandboxStats{At: time.Now()}
			return nil
		}
		stats, err = c.SandboxStats(ctx, slot.SandboxID)
		if gone(err) { // another one is on the way, or has no session yet
			stats, err = yurt.SandboxStats{At: time.Now()}, nil
		}
		return err
	})
	return stats, err
}
