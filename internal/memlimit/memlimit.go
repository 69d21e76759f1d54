// Package memlimit has the Go runtime collect garbage in time where the process is in a memory
// cgroup: without a goal the heap doubles before it is collected, and the kernel kills the process.
package memlimit

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// reserve is the most that is left to all that is not the Go heap: file systems in memory, the
// page cache, SQLite's own memory and the helpers in the same cgroup.
const reserve = 1 << 30

// Set gives the runtime a goal for its memory that follows the limit of the process's cgroup, and returns it. It returns 0 and
// leaves the runtime alone where the environment sets GOMEMLIMIT, or no cgroup limits the process.
func Set() (int64, error) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0, nil
	}
	table, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, fmt.Errorf("finding the memory limit of this process: %w", err)
	}
	limit := Of(os.DirFS("/sys/fs/cgroup"), string(table))
	if limit == math.MaxInt64 {
		return 0, nil
	}
	goal := Goal(limit)
	debug.SetMemoryLimit(goal)
	return goal, nil
}

// Goal returns how much of a limit the Go runtime may use: half of it, or all but [reserve] where
// that is more.
func Goal(limit int64) int64 { return max(limit/2, limit-reserve) }

// Of returns the lowest memory limit of the cgroups that the table, which is in the format of
// /proc/self/cgroup, has the process in, and of their parents. files is the tree below
// /sys/fs/cgroup. It returns [math.MaxInt64] where there is no limit.
func Of(files fs.FS, table string) int64 {
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(table) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for _, group := range parents(fields[2]) {
			switch fields[1] {
			case "":
				limit = min(limit, read(files, path.Join(".", group, "memory.max")))
			case "memory":
				limit = min(limit, read(files, path.Join("memory", group, "memory.limit_in_bytes")))
			}
		}
	}
	return limit
}

// parents returns a path and those above it. In a container the path of the host may be missing; then only its root exists.
func parents(group string) []string {
	list := []string{"/"}
	for at := path.Clean("/" + group); at != "/"; at = path.Dir(at) {
		list = append(list, at)
	}
	return list
}

// unlimited is cgroup v1's value for no limit, or more: the largest multiple of a page.
const unlimited = math.MaxInt64 &^ (1<<16 - 1)

func read(files fs.FS, name string) int64 {
	data, err := fs.ReadFile(files, strings.TrimPrefix(name, "/"))
	if err != nil {
		return math.MaxInt64
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64) // "max" is no number
	if err != nil || limit <= 0 || limit >= unlimited {
		return math.MaxInt64
	}
	return limit
}
