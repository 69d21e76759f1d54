package cgroup

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
)

// CPUList is the processors with these numbers as the kernel takes them.
func CPUList(cpus []int) string {
	numbers := make([]string, 0, len(cpus))
	for _, cpu := range cpus {
		numbers = append(numbers, strconv.Itoa(cpu))
	}
	return strings.Join(numbers, ",")
}

// notPinned is the error of a sandbox whose processors it cannot be held to.
func notPinned(cpus string, err error) error {
	return yurt.FieldErrorf(yurt.CodeLimitNotEnforceable, "host.cpus", "this host cannot hold a sandbox to its processors %s: %w", cpus, err)
}

// pinV1 binds the processes of the group to the processors. On v1 a new cpuset is empty, and accepts no process before
// it has processors and memory.
func (m *Manager) pinV1(g *groupV1, cpus string) error {
	dir := g.dir["cpuset"]
	if dir == "" {
		return yurt.FieldErrorf(yurt.CodeLimitNotEnforceable, "host.cpus", "this host has no cgroup controller %q; mount it below /sys/fs/cgroup, or reserve no cores", "cpuset")
	}
	m.mu.Lock()
	err := inheritCPUs(filepath.Dir(dir))
	m.mu.Unlock()
	if err != nil {
		return notPinned(cpus, err)
	}
	nodes, err := readText(filepath.Dir(dir), "cpuset.mems")
	if err != nil {
		return notPinned(cpus, err)
	}
	for file, value := range map[string]string{"cpuset.cpus": cpus, "cpuset.mems": nodes} {
		if err := write(dir, file, value); err != nil {
			return notPinned(cpus, err)
		}
	}
	return nil
}

// inheritCPUs gives the parent of all groups the processors and memory of the cpuset above it.
func inheritCPUs(parent string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if own, err := readText(parent, file); err != nil || own != "" {
			if err != nil {
				return err
			}
			continue
		}
		all, err := readText(filepath.Dir(parent), file)
		if err != nil {
			return err
		}
		if err := write(parent, file, all); err != nil {
			return err
		}
	}
	return nil
}

// pinV2 does it on v2, where the controller is handed on for those alone that ask for it.
func (m *Manager) pinV2(dir, cpus string) error {
	for _, above := range []string{m.v2, filepath.Dir(dir)} {
		if err := write(above, "cgroup.subtree_control", "+cpuset"); err != nil {
			return notPinned(cpus, err)
		}
	}
	if err := write(dir, "cpuset.cpus", cpus); err != nil {
		return notPinned(cpus, err)
	}
	// The kernel accepts any numbers, and runs the processes of a set without existing processors on all others.
	effective, err := readText(dir, "cpuset.cpus.effective")
	if err != nil {
		return notPinned(cpus, err)
	}
	if !sameCPUs(effective, cpus) {
		return notPinned(cpus, fmt.Errorf("it would run on %s", effective))
	}
	return nil
}

func readText(dir, file string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// sameCPUs reports whether both lists, in which there may be ranges, are of the same processors.
func sameCPUs(a, b string) bool {
	return maps.Equal(numbersOf(a), numbersOf(b))
}

// numbersOf reads a list of processors of the kernel's.
func numbersOf(list string) map[int]bool {
	found := make(map[int]bool)
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		low, errLow := strconv.Atoi(first)
		high, errHigh := strconv.Atoi(last)
		if errLow != nil || errHigh != nil || high >= yurt.MaxCPUs {
			continue
		}
		for cpu := low; cpu <= high; cpu++ {
			found[cpu] = true
		}
	}
	return found
}
