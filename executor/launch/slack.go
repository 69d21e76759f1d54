package launch

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// slack is how late timers may be of the launcher and of what it starts up to yurt-init,
// which gives processes the kernel's usual 50 µs back. Nothing there is timed any finer. The
// Go runtime however has a thread that looks after the others every 20 µs in the first
// milliseconds of a process, and a create begins two: held up, it takes no time from them.
const slack = 2 * time.Millisecond

// startWithSlack starts the command, whose timers have the slack from its first
// instruction on: the process inherits that of the thread that starts it.
func startWithSlack(cmd *exec.Cmd) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0); err != nil {
		return fmt.Errorf("setting the slack of timers: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)) }() // to what it was by default
	return cmd.Start()
}
