package broker

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"github.com/yurtrun/yurt"
)

// ranges is the ranges of host ids of the sandboxes that there are. Two sandboxes of one range could signal each other, and open each other's files.
type ranges struct {
	mu    sync.Mutex
	found bool              // those of an earlier broker are in it
	owner map[uint32]string // the id of a sandbox, by the first id of its range
}

// takeRange enters the range of a new sandbox, unless another one has it.
func (l *Local) takeRange(base uint32, sandboxID string) error {
	l.ranges.mu.Lock()
	defer l.ranges.mu.Unlock()
	if !l.ranges.found {
		if err := findRanges(l); err != nil {
			return err
		}
	}
	if other := l.ranges.owner[base]; other != "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id_base", "sandbox %s has the range of ids from %d; take another, or end it first", other, base)
	}
	l.ranges.owner[base] = sandboxID
	return nil
}

// giveRangeBack frees the range of a sandbox that could not be started. One that has a cgroup may have processes, and keeps it until its end.
func giveRangeBack(l *Local, sandboxID string) {
	if there, err := l.Cgroups.Has(sandboxID); err == nil && !there {
		l.ranges.free(sandboxID)
	}
}

// findRanges enters the ranges of the sandboxes that an earlier broker has started. A sandbox without an init has no process with an id.
func findRanges(l *Local) error {
	names, err := l.Cgroups.Names()
	if err != nil {
		return err
	}
	l.ranges.owner = make(map[uint32]string)
	for _, name := range names {
		init, err := l.initOf(name)
		if err != nil {
			continue
		}
		base, err := firstID(init.PID)
		if !init.Alive() {
			continue
		}
		if err != nil {
			return fmt.Errorf("finding the ids of sandbox %s: %w", name, err)
		}
		l.ranges.owner[base] = name
	}
	l.ranges.found = true
	return nil
}

// firstID returns the id on the host that root of a process's user namespace has.
func firstID(pid int) (base uint32, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", pid))
	if err != nil {
		return 0, err
	}
	var inside uint32
	_, err = fmt.Fscan(bytes.NewReader(data), &inside, &base)
	return base, err
}

// free takes the range of a sandbox off the list.
func (r *ranges) free(sandboxID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for base, owner := range r.owner {
		if owner == sandboxID {
			delete(r.owner, base)
		}
	}
}
