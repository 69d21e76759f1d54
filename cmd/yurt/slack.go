package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// monitorSlack is how late the timers of the Go runtime's monitor may be.
const monitorSlack = time.Millisecond

// slackenMonitor has the thread by which the Go runtime watches the others wake up less
// often. It looks every 20 µs, for a millisecond and more each time that the process has something to
// do after it had nothing, which is what a server is about: a tenth of a controller's
// processor time. What it looks for, a thread that stays in a system call or a goroutine
// that runs for long, does not matter within a millisecond to a process that waits for
// the network. Nothing of the controller's own is timed by that thread.
//
// Go has no setting for it, and the kernel has one for each thread. The runtime starts
// its monitor before anything else, and the kernel lists threads in the order in which they
// began. Another thread would do no harm.
func slackenMonitor() error {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing the threads of this process: %w", err)
	}
	defer tasks.Close()
	threads, err := tasks.Readdirnames(2) // in the kernel's order: main, and the monitor
	if err != nil || len(threads) < 2 {
		return errors.Join(fmt.Errorf("listing the threads of this process: %d of them", len(threads)), err)
	}
	slack := strconv.FormatInt(monitorSlack.Nanoseconds(), 10)
	// A thread has this file in its own directory alone, which no list shows.
	if err := os.WriteFile("/proc/"+threads[1]+"/timerslack_ns", []byte(slack), 0); err != nil {
		return fmt.Errorf("setting the slack of timers: %w", err)
	}
	return nil
}
