// Package filelocks bounds the locks of files that processes of a sandbox hold. yurt-init has it asked before each call that can make one.
//
// The kernel charges a lock to no cgroup, and no setting bounds how many there are. A program that locks every other byte of a file
// could take all memory of the host.
package filelocks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Max is how many locks a sandbox may hold, beside those that [Mapped] hide. Each takes 192 bytes, and time with each further lock of its file.
	Max = 8 << 10
	// Mapped is how many files processes may have mapped without a count as locks. A file that is mapped keeps its lock when it has no
	// descriptor any more, and /proc does not show it then. A browser maps some 15,000.
	Mapped = 16 << 10
	// perCall is by how many a call can raise their number: a lock in the middle of another one splits it.
	perCall = 2
	// fewest is how many calls there must be room for, so that locks are not counted again for each call.
	fewest = 64
	// rest is the time from a count that found too many locks to the next one.
	rest = 100 * time.Millisecond
	// passes bounds how often processes are looked for that began while others were counted.
	passes = 64
)

// Budget bounds the locks. It counts them now and then, and takes each call since as [perCall] locks.
type Budget struct {
	proc  *os.File
	calls int       // that may be made before the next count
	full  time.Time // when there were too many last
}

// New returns the budget of a sandbox without locks, whose processes are all in the directory of a /proc.
func New(proc *os.File) *Budget { return &Budget{proc: proc, calls: Max / perCall} }

// Take returns nil if a call may make a lock now, and ENOLCK if there are too many.
func (b *Budget) Take() error {
	if b.calls == 0 && time.Since(b.full) > rest {
		b.calls = max(0, Max-count(fmt.Sprint("/proc/self/fd/", b.proc.Fd()))) / perCall
		if b.calls < fewest {
			b.calls, b.full = 0, time.Now()
		}
	}
	if b.calls == 0 {
		return unix.ENOLCK
	}
	b.calls--
	return nil
}

// count returns at least the number of locks that processes hold, or [Max] if processes begin faster than they are looked at: a
// process could hand its locks to a child and end before its turn.
func count(proc string) int {
	locks, mapped, seen := 0, 0, map[string]bool{}
	for range passes {
		fresh := false
		for _, pid := range names(proc) {
			if pid[0] < '1' || pid[0] > '9' || seen[pid] {
				continue
			}
			seen[pid], fresh = true, true
			l, m := ofProcess(proc + "/" + pid)
			locks, mapped = locks+l, mapped+m
		}
		if !fresh {
			return locks + max(0, mapped-Mapped)
		}
	}
	return Max
}

// ofProcess returns at least the number of locks that the kernel shows for the process, and how many mappings it has of files. All its
// threads have the same files, which the list of system calls sees to; one that has ended has no files there. A process of code that cannot be
// looked at, as one whose program may not be read, may have as many locks as there are.
func ofProcess(dir string) (locks, mapped int) {
	for _, thread := range names(dir + "/task") {
		thread = dir + "/task/" + thread
		maps, err := os.ReadFile(thread + "/maps")
		switch {
		case errors.Is(err, fs.ErrPermission) && !isRoot(dir):
			return Max, 0
		case len(maps) > 0:
			return ofDescriptors(thread + "/fdinfo/"), ofFiles(maps)
		}
	}
	return 0, 0
}

// isRoot reports whether a process is not code's but yurt-init's own.
func isRoot(dir string) bool {
	status, err := os.ReadFile(dir + "/status")
	return err == nil && bytes.Contains(status, []byte("\nUid:\t0\t0\t0\t0\n"))
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

// ofDescriptors returns how many locks the kernel shows for the descriptors in a directory.
func ofDescriptors(dir string) (n int) {
	for _, fd := range names(dir) {
		info, err := os.ReadFile(dir + fd)
		if err != nil {
			continue // it was closed
		}
		n += bytes.Count(info, []byte("\nlock:\t"))
	}
	return n
}

// names returns the names in a directory; of a process that has ended, an empty list.
func names(dir string) []string {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	list, _ := file.Readdirnames(-1)
	return list
}
