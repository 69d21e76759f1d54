// Package procid names processes for good, so that a record on the disk can say which process
// it is about: after the process its number is another's, and after a boot everything is. It
// only reads /proc; to signal a process or wait for it, see package pidfd.
package procid

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// ID names a process for good: its number is used again after it, the
// moment at which it began in this boot is not.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot
	Boot  string `json:"boot"`
}

// thisBoot is the id of the boot, which outlives this process; nil until it is read.
var thisBoot atomic.Pointer[string] //nolint:gochecknoglobals // each request about a process needs it

func bootID() (string, error) {
	if id := thisBoot.Load(); id != nil {
		return *id, nil
	}
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identifying the boot: %w", err)
	}
	id := strings.TrimSpace(string(data))
	thisBoot.Store(&id)
	return id, nil
}

// Of returns the identity of the process that has the number now.
func Of(pid int) (ID, error) {
	boot, err := bootID()
	if err != nil {
		return ID{}, err
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ID{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	// The command, in parentheses, may hold anything; the start is field 22, the
	// 20th after it.
	_, after, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ID{}, fmt.Errorf("identifying process %d: it has ended", pid)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return ID{PID: pid, Start: start, Boot: boot}, nil
}

// Alive reports whether the process of this identity is there.
func (id ID) Alive() bool {
	now, err := Of(id.PID)
	return err == nil && now == id
}
