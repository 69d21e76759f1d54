package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const sigterm = syscall.SIGTERM

// sweep removes an agent's remains from the machine: processes that were told of its directory or
// live in its cgroups, mounts below the directory, the cgroups, and the directory. Processes are
// asked first, for a moment; one that had to be killed is an error.
func sweep(dir, cgroup string) error {
	var errs []error
	if left := end(dir, cgroup, syscall.SIGTERM, 20*time.Second); len(left) > 0 {
		errs = append(errs, fmt.Errorf("these did not end when asked, and were killed:\n%s", strings.Join(describe(left), "\n")))
		if left := end(dir, cgroup, syscall.SIGKILL, 20*time.Second); len(left) > 0 {
			errs = append(errs, fmt.Errorf("these could not be killed:\n%s", strings.Join(describe(left), "\n")))
		}
	}
	return errors.Join(append(errs, unmountBelow(dir), removeCgroups(cgroup), removeUnmounted(dir))...)
}

// removeUnmounted removes the directory, unless there is a mount below it: to remove through a
// mount would be to remove the mounted files.
func removeUnmounted(dir string) error {
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	if len(points) > 0 {
		return fmt.Errorf("%s is kept, as these are still mounted: %q", dir, points)
	}
	return os.RemoveAll(dir)
}

// end signals all that belong to the agent, and returns those that are still there after
// the time, if any.
func end(dir, cgroup string, signal syscall.Signal, within time.Duration) []int {
	signalled := map[int]bool{}
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		left := belonging(dir, cgroup)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		for _, pid := range left {
			if !signalled[pid] { // once: a second one makes some hurry and leave things behind
				signalled[pid] = true
				_ = syscall.Kill(pid, signal)
			}
		}
	}
}

// belonging finds the processes of the agent.
func belonging(dir, cgroup string) []int {
	entries, _ := os.ReadDir("/proc") // it is always there
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		at := filepath.Join("/proc", entry.Name())
		if mentions(filepath.Join(at, "cmdline"), dir) || mentions(filepath.Join(at, "environ"), dir) ||
			cgroup != "" && mentions(filepath.Join(at, "cgroup"), cgroup) {
			if !isZombie(at) {
				found = append(found, pid)
			}
		}
	}
	return found
}

func mentions(file, text string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data, []byte(text)) // else it has gone meanwhile
}

// isZombie reports whether a process has ended, waits for its parent to reap it, and holds no files
// any more.
func isZombie(at string) bool {
	stat, err := os.ReadFile(filepath.Join(at, "stat"))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func describe(pids []int) []string {
	lines := make([]string, 0, len(pids))
	for _, pid := range pids {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		lines = append(lines, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
	}
	return lines
}

// unmountBelow unmounts the mounts below the directory, the innermost first.
func unmountBelow(dir string) error {
	points, err := mountsBelow(dir)
	errs := []error{err}
	slices.Reverse(points) // a mount is listed after the one that it lies on
	for _, point := range points {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}

func mountsBelow(dir string) ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for mounts: %w", err)
	}
	var points []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	return points, nil
}

// removeCgroups removes the group from every hierarchy that has it, v1 and v2.
func removeCgroups(group string) error {
	if group == "" {
		return nil
	}
	var errs []error
	for _, pattern := range []string{"/sys/fs/cgroup/" + group, "/sys/fs/cgroup/*/" + group} {
		tops, err := filepath.Glob(pattern)
		errs = append(errs, err)
		for _, top := range tops {
			errs = append(errs, removeCgroup(top))
		}
	}
	return errors.Join(errs...)
}

// cgroupsIn lists the group and those in it, the innermost first.
func cgroupsIn(top string) []string {
	var dirs []string
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // a process that cannot be read has ended meanwhile
	})
	slices.Reverse(dirs)
	return dirs
}

func removeCgroup(top string) error {
	for _, dir := range cgroupsIn(top) {
		// A group is busy for a moment after its last process has ended.
		var err error
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if err = os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("removing a cgroup: %w", err)
			}
		}
	}
	return nil
}
