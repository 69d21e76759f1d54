package objects

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// MaxLocks is how many locks a sandbox may hold, beside those that [Mapped] hide. Each takes 192 bytes, and time with each further
	// lock of its file.
	MaxLocks = 8 << 10
	// Mapped is how many files processes may have mapped without a count as locks. A file that is mapped keeps its lock when it has no
	// descriptor any more, and /proc does not show it then. A browser maps some 15,000.
	Mapped = 16 << 10
)

// Locks returns the budget of locks of a sandbox without any, whose processes are all in the directory of a /proc. A lock in the middle
// of another one splits it.
func Locks(proc *os.File) *Budget {
	return newBudget(kind{most: MaxLocks, perCall: 2, refusal: unix.ENOLCK, of: locksOf}, proc)
}

// locksOf returns the locks that the kernel shows for the process, and how many mappings it has of files.
func locksOf(dir string) (locks, mapped int) {
	path, maps, unknown := thread(dir)
	switch {
	case unknown:
		return MaxLocks, 0
	case path == "":
		return 0, 0
	}
	for _, fd := range names(path + "/fdinfo") {
		info, _ := os.ReadFile(path + "/fdinfo/" + fd) // it may have been closed
		locks += bytes.Count(info, []byte("\nlock:\t"))
	}
	return locks, ofFiles(maps)
}

// ofFiles returns how many mappings are of files.
func ofFiles(maps []byte) (n int) {
	for line := range bytes.Lines(maps) {
		const inode = 4
		if fields := bytes.Fields(line); len(fields) > inode && string(fields[inode]) != "0" {
			n++
		}
	}
	return n
}
