package driver

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/yurtrun/yurt/executor/api"

	"github.com/yurtrun/yurt/driver/internal/taskspec"
)

// sweepEvery is the pause between two looks for tasks that Nomad has forgotten.
const sweepEvery = time.Minute

// sweeper ends the executor's sandboxes and slots of tasks that no longer exist, as when the data of Nomad's client was removed:
// no call would stop them. A task is taken for gone when this driver has not been told of it and the directory of its allocation
// is gone, at two looks in a row.
type sweeper struct {
	driver   *Driver
	suspects map[string]bool // ids of sandboxes and slots
}

// sweep looks once.
func (s *sweeper) sweep(ctx context.Context) error {
	suspects := map[string]bool{}
	// lost reports whether the sandbox or slot with the labels is to be ended now.
	lost := func(id string, labels map[string]string) bool {
		if !s.driver.forgotten(labels) {
			return false
		}
		suspects[id] = true
		return s.suspects[id]
	}
	err := s.driver.executor().Call(ctx, func(c *api.Client) error {
		slots, err := c.Slots(ctx)
		if err != nil {
			return err
		}
		for _, slot := range slots {
			if lost(slot.ID, slot.Labels) {
				s.driver.logger.Warn("closing the slot of a task that is no more", "slot", slot.ID, "task_id", slot.Labels[taskspec.LabelTask])
				err = errors.Join(err, c.CloseSlot(ctx, slot.ID))
			}
		}
		sandboxes, failed := c.Sandboxes(ctx)
		err = errors.Join(err, failed)
		for _, sandbox := range sandboxes {
			if sandbox.Slot == "" && lost(sandbox.ID, sandbox.Labels) {
				s.driver.logger.Warn("destroying the sandbox of a task that is no more", "sandbox", sandbox.ID, "task_id", sandbox.Labels[taskspec.LabelTask])
				err = errors.Join(err, c.DestroySandbox(ctx, sandbox.ID))
			}
		}
		return err
	})
	s.suspects = suspects
	return err
}

// forgotten reports whether the labels name a task that neither Nomad nor this driver knows.
func (d *Driver) forgotten(labels map[string]string) bool {
	task, dir := labels[taskspec.LabelTask], labels[taskspec.LabelDir]
	if task == "" || dir == "" {
		return false // it is not of a task
	}
	if _, err := d.find(task); err == nil {
		return false
	}
	_, err := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist)
}
