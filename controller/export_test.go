package controller

import (
	"time"

	"github.com/yurtrun/yurt/controller/internal/clock"
)

// MachineClock is the clock of a controller on a machine whose own says that.
func MachineClock(machine func() time.Time) Clock { return clock.Following(machine) }

// GrantCancel is how long an execution that is cancelled has to end after the interrupt.
func GrantCancel(c *Controller, grace time.Duration) { c.cancelGrace = grace }
