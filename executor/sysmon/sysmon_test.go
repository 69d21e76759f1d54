package sysmon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSlacken wants one thread to have slack, and that one to be the monitor: the
// only one that sleeps for a while in a process that has something to do.
func TestSlacken(t *testing.T) {
	if err := Slacken(); err != nil {
		t.Fatal(err)
	}
	var late []string
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if data, err := os.ReadFile(filepath.Join("/proc", thread.Name(), "timerslack_ns")); err == nil && string(data) == "500000\n" {
			late = append(late, thread.Name())
		}
	}
	if len(late) != 1 {
		t.Fatalf("threads %v have slack", late)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	nanosleep, asleep, waiting := fmt.Sprint(unix.SYS_NANOSLEEP, " "), 0, 0
	for waiting < 100 {
		data, err := os.ReadFile(filepath.Join("/proc", late[0], "syscall"))
		switch {
		case err != nil || ctx.Err() != nil:
			t.Fatalf("looking at thread %s: %v, after it waited %d times", late[0], err, waiting)
		case strings.HasPrefix(string(data), nanosleep):
			asleep++
			waiting++
		case string(data) != "running\n":
			waiting++
		}
	}
	if asleep < 50 {
		t.Errorf("thread %s slept %d times of %d when it waited, not as the monitor does", late[0], asleep, waiting)
	}
}
