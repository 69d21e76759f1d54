package controller

import "time"

// MachineClock is the clock of a controller on a machine whose own says that.
func MachineClock(machine func() time.Time) Clock { return newSteadyClock(machine, sinceBoot) }
