package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// inventory is what Yurt has on this machine at one moment, by kind.
type inventory struct {
	processes, mounts, cgroups map[string]bool
}

// takeInventory looks for everything that could be of Yurt: processes of its
// binaries or in its cgroups, mounts and cgroups that bear its name or lie under
// the state directory.
func takeInventory(stateDir string) (inventory, error) {
	mine := func(text string) bool { return strings.Contains(text, "yurt") || strings.Contains(text, stateDir) }
	mounts, err := matchingLines("/proc/self/mountinfo", mine)
	if err != nil {
		return inventory{}, err
	}
	return inventory{processes: yurtProcesses(mine), mounts: mounts, cgroups: yurtCgroups(mine)}, nil
}

func matchingLines(file string, mine func(string) bool) (map[string]bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("looking for mounts: %w", err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if mine(line) {
			found[strings.TrimSpace(line)] = true
		}
	}
	return found, nil
}

func yurtProcesses(mine func(string) bool) map[string]bool {
	found := map[string]bool{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return found
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || pid == os.Getppid() {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", entry.Name(), "exe"))
		if err != nil {
			continue // a kernel thread, or gone meanwhile
		}
		groups, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cgroup"))
		if strings.Contains(filepath.Base(exe), "yurt") || mine(string(groups)) {
			found[entry.Name()+" "+exe] = true
		}
	}
	return found
}

func yurtCgroups(mine func(string) bool) map[string]bool {
	found := map[string]bool{}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && mine(path) {
			found[path] = true
		}
		return nil // a directory that cannot be read has nothing of ours
	})
	return found
}

// since returns what is there now and was not before, by kind, sorted.
func (now inventory) since(before inventory) map[string][]string {
	left := map[string][]string{}
	compare := func(kind string, now, before map[string]bool) {
		for item := range maps.Keys(now) {
			if !before[item] {
				left[kind] = append(left[kind], item)
			}
		}
		slices.Sort(left[kind])
	}
	compare("processes", now.processes, before.processes)
	compare("mounts", now.mounts, before.mounts)
	compare("cgroups", now.cgroups, before.cgroups)
	return left
}
