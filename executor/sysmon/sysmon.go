package sysmon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// slack is how late the timers of the monitor may be.
const slack = 500 * time.Microsecond

// Slacken has the monitor of this process wake up less often.
//
// Go has no setting for it, and the kernel has one for each thread. The runtime starts
// its monitor before anything else, and the kernel lists threads in the order in which they
// began. Another thread would do no harm.
func Slacken() error {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing the threads of this process: %w", err)
	}
	defer tasks.Close()
	threads, err := tasks.Readdirnames(2) // in the kernel's order: main, and the monitor
	if err != nil || len(threads) < 2 {
		return errors.Join(fmt.Errorf("listing the threads of this process: %d of them", len(threads)), err)
	}
	// A thread has this file in its own directory alone, which no list shows.
	if err := os.WriteFile("/proc/"+threads[1]+"/timerslack_ns", []byte(strconv.FormatInt(slack.Nanoseconds(), 10)), 0); err != nil {
		return fmt.Errorf("setting the slack of timers: %w", err)
	}
	return nil
}
