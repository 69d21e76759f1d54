package controller

import (
	"time"

	"github.com/yurtrun/yurt/controller/internal/clock"
)

// MachineClock is the clock of a controller on a machine whose own says that.
func MachineClock(machine func() time.Time) Clock { return clock.Following(machine) }
