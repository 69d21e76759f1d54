package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// treeMemory is the memory of the processes that have the directory in their arguments, and of their
// descendants, in KiB: of shared memory each has its part. Memory of other processes does not
// count, and neither does the memory that the kernel holds for a process.
func treeMemory(dir string) (float64, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	children := make(map[string][]string)
	var tree []string
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		at := filepath.Join("/proc", entry.Name())
		stat, err := os.ReadFile(filepath.Join(at, "stat"))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if err != nil || len(fields) < 2 {
			continue // it has ended
		}
		children[fields[1]] = append(children[fields[1]], entry.Name())
		told, err := os.ReadFile(filepath.Join(at, "cmdline"))
		if err == nil && bytes.Contains(told, []byte(dir)) {
			tree = append(tree, entry.Name())
		}
	}
	total, counted := 0.0, make(map[string]bool)
	for len(tree) > 0 {
		pid := tree[0]
		tree = append(tree[1:], children[pid]...)
		if counted[pid] {
			continue
		}
		counted[pid] = true
		share, err := proportionalSet(pid)
		if err != nil {
			return 0, err
		}
		total += share
	}
	if total == 0 {
		return 0, fmt.Errorf("no process knows of %s", dir)
	}
	return total, nil
}

// proportionalSet is that of a process in KiB, 0 if it has ended.
func proportionalSet(pid string) (float64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
	if err != nil {
		return 0, nil //nolint:nilerr // it has ended, or is a thread of the kernel
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
			return strconv.ParseFloat(fields[1], 64)
		}
	}
	return 0, nil
}
