package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// killTree kills everything in the freezer directory and below it.
func killTree(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("killing a cgroup: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := killTree(ctx, filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return killV1(ctx, dir)
}

// killV1 kills every process of the freezer directory. They are frozen first, so
// that one which forks faster than it is killed has no time to. Each round is more patient
// than the one before: to stop, and to end, a process needs some time on a processor, and
// of those there may be many on a busy machine.
func killV1(ctx context.Context, freezer string) error {
	for patience := time.Millisecond; ; patience = min(2*patience, mostPatience) {
		list, err := residents(freezer)
		if err != nil || len(list) == 0 {
			return ifThere(err)
		}
		if err := killFrozen(ctx, freezer, patience-time.Millisecond); err != nil {
			return err
		}
		left, err := awaitEmpty(ctx, freezer, patience)
		if err != nil || left == 0 {
			return ifThere(err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("killing a cgroup: %d processes are still there: %w", left, ctx.Err())
		}
	}
}

// killFrozen sends SIGKILL to all while they are frozen; it takes effect on thawing. While
// one is not frozen yet, which is waited for until patience ends, it may be in the middle
// of a fork, and its child is missed.
func killFrozen(ctx context.Context, freezer string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := freezeV1(ctx, freezer); err != nil && ctx.Err() == nil {
		return err
	}
	list, err := residents(freezer)
	for _, pid := range list {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	if err := errors.Join(ifThere(err), ifThere(write(freezer, "freezer.state", "THAWED"))); err != nil {
		return fmt.Errorf("killing a cgroup: %w", err)
	}
	return nil
}

// awaitEmpty waits until the freezer directory has no processes, or patience or ctx ends, and returns how many are left.
func awaitEmpty(ctx context.Context, freezer string, patience time.Duration) (int, error) {
	deadline := time.Now().Add(patience)
	for {
		select {
		case <-ctx.Done():
		case <-time.After(freezePoll):
		}
		list, err := residents(freezer)
		if err != nil || len(list) == 0 || ctx.Err() != nil || time.Now().After(deadline) {
			return len(list), err
		}
	}
}

// residents lists the processes that belong in the directory. The kernel also lists
// those of which just one thread is there: the launcher and init, which send a thread
// through to start something, and which no kill may hit.
func residents(freezer string) ([]int, error) {
	list, err := pids(freezer)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(pid int) bool { return mainThreadElsewhere(pid, freezer) }), nil
}

// mainThreadElsewhere reports whether the process's main thread lives, and lives in
// another directory. Where a dead one was, the kernel does not say.
func mainThreadElsewhere(pid int, freezer string) bool {
	cgroups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || inFreezer(string(cgroups), freezer) {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}

// inFreezer reports whether the text of /proc/PID/cgroup says that the process is in
// the directory, whose path ends as the one in the text does.
func inFreezer(text, dir string) bool {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), "freezer") {
			return fields[2] != "/" && strings.HasSuffix(dir, fields[2])
		}
	}
	return true // unknown: better killed
}
