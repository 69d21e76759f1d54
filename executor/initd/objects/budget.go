// Package objects bounds the kernel's objects that processes of a sandbox hold and that no cgroup is charged for: locks of files, and
// instances of epoll, timers and counters of events. yurt-init has them counted before calls that make one.
//
// No setting of the kernel bounds how many there are. A program that locks every other byte of a file, or makes an instance of epoll
// for each file that it may have open, could take much memory of the host beyond its limit.
package objects

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// fewest is how many calls there must be room for, so that objects are not counted again for each call.
	fewest = 64
	// rest is the time from a count that found too many objects to the next one.
	rest = 100 * time.Millisecond
	// passes bounds how often processes are looked for that began while others were counted.
	passes = 64
)

// kind is a kind of objects.
type kind struct {
	most    int
	perCall int // by how many a call can raise their number
	refusal syscall.Errno
	// of returns at least the number of objects that the process in a directory of /proc holds, or most.
	of func(dir string) (held, mapped int)
}

// Budget bounds the objects of a kind. It counts them now and then, and takes each call since as the most that it can make.
type Budget struct {
	kind

	proc  *os.File
	calls int       // that may be made before the next count
	full  time.Time // when there were too many last
}

func newBudget(k kind, proc *os.File) *Budget {
	return &Budget{kind: k, proc: proc, calls: k.most / k.perCall}
}

// Take returns nil if a call may make an object now, and the refusal of its kind if there are too many.
func (b *Budget) Take() error {
	if b.calls == 0 && time.Since(b.full) > rest {
		b.calls = max(0, b.most-b.count(fmt.Sprint("/proc/self/fd/", b.proc.Fd()))) / b.perCall
		if b.calls < fewest {
			b.calls, b.full = 0, time.Now()
		}
	}
	if b.calls == 0 {
		return b.refusal
	}
	b.calls--
	return nil
}

// count returns at least the number of objects that processes hold, or the most if there are as many, or if processes begin faster than
// they are looked at: a process could hand its objects to a child and end before its turn.
func (k *kind) count(proc string) int {
	held, mapped, seen := 0, 0, map[string]bool{}
	for range passes {
		fresh := false
		for _, pid := range names(proc) {
			if pid[0] < '1' || pid[0] > '9' || seen[pid] {
				continue
			}
			seen[pid], fresh = true, true
			h, m := k.of(proc + "/" + pid)
			held, mapped = held+h, mapped+m
			if held >= k.most {
				return k.most
			}
		}
		if !fresh {
			return held + max(0, mapped-Mapped)
		}
	}
	return k.most
}
