package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// killV2 kills all processes in the directory and below it, and waits for their end. It repeats the kill after a
// moment, and by other means: a process can be born into the directory at the very instant of the kill and be missed
// (before Linux 6.14), or have no main thread any more, see signalEach.
func killV2(ctx context.Context, dir string) error {
	for again := false; ; again = true {
		populated, err := killOnce(dir, again)
		if removed(dir, err) {
			return nil
		}
		if err != nil || !populated {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("killing a cgroup: processes are still there: %w", ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// killOnce reports whether processes are still there.
func killOnce(dir string, again bool) (bool, error) {
	err := write(dir, "cgroup.kill", "1")
	if errors.Is(err, os.ErrNotExist) && !removed(dir, err) {
		return true, yurt.Errorf(yurt.CodeNotSupported, "this kernel has no cgroup.kill; Linux 5.14 or newer is needed on cgroup v2")
	}
	if err != nil {
		return true, err
	}
	if again {
		if err := signalTree(dir); err != nil {
			return true, err
		}
	}
	populated, err := readField(dir, "cgroup.events", "populated")
	return populated != 0, err
}

// removed reports whether err came of the directory having been removed meanwhile.
func removed(dir string, err error) bool {
	if errors.Is(err, syscall.ENODEV) {
		return true
	}
	if !errors.Is(err, os.ErrNotExist) {
		return false
	}
	_, err = os.Stat(dir)
	return errors.Is(err, os.ErrNotExist)
}

func signalTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = signalEach(path)
		}
		if removed(path, err) {
			return nil
		}
		return err
	})
}

// signalEach kills each process of the directory by its number. That reaches a process whose main thread has ended, as
// user code can arrange: cgroup.kill sends its signal to the main thread alone, which does not handle it any more.
func signalEach(dir string) error {
	list, err := pids(dir)
	if err != nil {
		return err
	}
	files := make(map[int]int, len(list)) // pid → descriptor that stands for it
	defer func() {
		for _, fd := range files {
			unix.Close(fd)
		}
	}()
	for _, pid := range list {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil { // else it is gone
			files[pid] = fd
		}
	}
	// A number that is listed still has been the same process's all along, or the
	// process that the descriptor stands for is gone and cannot be hit.
	list, err = pids(dir)
	for pid, fd := range files {
		if slices.Contains(list, pid) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may be gone
		}
	}
	return err
}
