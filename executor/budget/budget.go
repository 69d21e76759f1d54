// Package budget bounds the memory and the processes that all sandboxes of a node take together.
//
// The cgroup above all sandboxes holds the bounds, so that the host keeps the rest for itself. Sandboxes may be promised
// more memory than the bound, since most of them use a part of theirs: the overcommit says how many times as much. When
// they want it all the same, the kernel ends processes of sandboxes, and no others.
package budget

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// Bounds of all sandboxes together. A field that is zero means its default.
type Bounds struct {
	Memory     yurt.Size // the host's, but for a sixteenth and at least 512 MiB
	PIDs       int       // processes and threads; three quarters of those that the kernel can have
	Overcommit float64   // memory that may be promised, as a multiple of Memory; 4
}

// The bounds of the settings, and the defaults.
const (
	MinMemory         = 256 << 20
	MinPIDs           = 256
	MinOvercommit     = 1
	MaxOvercommit     = 1000
	DefaultOvercommit = 4

	reservedPart  = 16 // of the host's memory, for the host
	reservedLeast = 512 << 20
)

// Complete returns the bounds with defaults for zeros. It refuses those that this host cannot hold.
func (b Bounds) Complete() (Bounds, error) {
	total, err := HostMemory()
	if err != nil {
		return b, err
	}
	pids, err := maxPIDs()
	if err != nil {
		return b, err
	}
	if b.Memory == 0 {
		b.Memory = max(total-max(total/reservedPart, reservedLeast), total/2) >> 20 << 20 // reads better
	}
	if b.PIDs == 0 {
		b.PIDs = pids / 4 * 3
	}
	if b.Overcommit == 0 {
		b.Overcommit = DefaultOvercommit
	}
	switch {
	case b.Memory < min(MinMemory, total/2) || b.Memory > total:
		return b, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--total-memory", "%s is out of range; give %s to %s, the memory of this host", b.Memory, yurt.Size(MinMemory), total)
	case b.PIDs < MinPIDs || b.PIDs > pids:
		return b, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--total-pids", "%d is out of range; give %d to %d, as many as the kernel can have", b.PIDs, MinPIDs, pids)
	case !(b.Overcommit >= MinOvercommit && b.Overcommit <= MaxOvercommit):
		return b, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--memory-overcommit", "%v is out of range; give %d, which promises no more than there is, to %d", b.Overcommit, MinOvercommit, MaxOvercommit)
	}
	return b, nil
}

// Promisable is how much memory may be promised to sandboxes.
func (b Bounds) Promisable() yurt.Size {
	return yurt.Size(math.Round(float64(b.Memory) * b.Overcommit))
}

// Admit refuses the limits of a sandbox that all of them together may not reach.
func (b Bounds) Admit(r yurt.Resources) error {
	if r.PIDs > b.PIDs {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.pids", "%d processes were asked for, the node has at most %d for all its sandboxes (--total-pids)", r.PIDs, b.PIDs)
	}
	if r.Memory > b.Memory {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.memory", "%s was asked for, the node has %s for all its sandboxes (--total-memory)", r.Memory, b.Memory)
	}
	if !r.OnDisk() && r.Disk > b.Memory {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s was asked for, and workspaces are held in memory, of which the node has %s for all its sandboxes (--total-memory)", r.Disk, b.Memory)
	}
	return nil
}

// HostMemory returns how much memory the host has.
func HostMemory() (yurt.Size, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("reading the host's memory: %w", err)
	}
	return yurt.Size(info.Totalram) * yurt.Size(info.Unit), nil
}

// maxPIDs returns how many processes and threads the kernel can have at once.
func maxPIDs() (int, error) {
	most := math.MaxInt
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := os.ReadFile("/proc/sys/kernel/" + name)
		if err != nil {
			return 0, fmt.Errorf("reading how many processes the kernel can have: %w", err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return 0, fmt.Errorf("reading how many processes the kernel can have: %s: %w", name, err)
		}
		most = min(most, n)
	}
	return most, nil
}
