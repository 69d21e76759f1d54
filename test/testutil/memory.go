package testutil

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Memory returns a figure of a process's memory in bytes, by its name in /proc/PID/status: VmHWM for the most that was resident,
// RssAnon for the part that no file is behind.
func Memory(t testing.TB, pid int, name string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != name+":" {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return kib << 10
	}
	t.Fatalf("the status of process %d has no %s", pid, name)
	return 0
}
