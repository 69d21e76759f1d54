// Package openfiles says how many sandboxes the process's limit of open files has room for. Go
// raises the soft limit to the hard one when a program starts, so that the hard one counts.
package openfiles

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// PerSandbox is how many files an executor has open for a sandbox in which something runs.
	PerSandbox = 12
	// Own is how many it has open beside those, for its stores, its runtimes and its callers.
	Own = 128
)

// Limit returns how many files this process may have open.
func Limit() (int, error) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return 0, fmt.Errorf("reading the limit of open files: %w", err)
	}
	return int(min(files.Max, 1<<30)), nil
}

// Needed returns how many files an executor has open for so many sandboxes.
func Needed(sandboxes int) int { return Own + sandboxes*PerSandbox }

// Room returns for how many sandboxes a limit is enough.
func Room(limit int) int { return max(0, limit-Own) / PerSandbox }
