package cgroup

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/yurtrun/yurt"
)

// All are the bounds of all groups together. Zeros are no bounds.
type All struct {
	Memory int64 // bytes, swap included
	PIDs   int
}

// BoundAll sets the bounds of all groups together, which come into force with the next group that is made.
func (m *Manager) BoundAll(all All) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all, m.bounded = all, false
}

// CheckLimits returns an error unless the limits of one group are possible and within the bounds of all groups together.
func (m *Manager) CheckLimits(l Limits) error {
	m.mu.Lock()
	all := m.all
	m.mu.Unlock()
	mostMemory, mostPIDs := int64(math.MaxInt64), math.MaxInt32
	if all.Memory != 0 {
		mostMemory = all.Memory
	}
	if all.PIDs != 0 {
		mostPIDs = all.PIDs
	}
	outside := func(field string, value, least, most any) error {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "%v is not within %v and %v, which this node allows one sandbox; ask for another value", value, least, most)
	}
	switch {
	case !(l.CPU > 0 && l.CPU <= yurt.MaxCPUs):
		return outside("resources.cpu", l.CPU, "more than 0", yurt.MaxCPUs)
	case l.Memory <= 0 || l.Memory > mostMemory:
		return outside("resources.memory", l.Memory, 1, mostMemory)
	case l.PIDs <= 0 || l.PIDs > mostPIDs:
		return outside("resources.pids", l.PIDs, 1, mostPIDs)
	case l.CPUWeight < 0 || l.CPUWeight > yurt.MaxCPUWeight:
		return outside("host.cpu_weight", l.CPUWeight, 0, yurt.MaxCPUWeight)
	}
	return nil
}

// boundParent sets the bounds of all groups together on the parent directory. It also gives them the weight of the machine's cores. With
// the kernel's default they would weigh as much as any one process beside them, and a sandbox would wait behind each when its
// neighbours have used that share up.
func (m *Manager) boundParent() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bounded {
		return nil
	}
	bound := m.boundParentV1
	if m.v2 != "" {
		bound = m.boundParentV2
	}
	err := bound(clampWeight(float64(runtime.NumCPU()) * coreWeight))
	m.bounded = err == nil
	return err
}

func (m *Manager) boundParentV1(weight int64) error {
	err := writeInt(filepath.Join(m.v1["cpu"], m.parent), "cpu.shares", shares(weight))
	if m.all.Memory != 0 {
		err = errors.Join(err, limitMemoryV1(filepath.Join(m.v1["memory"], m.parent), m.all.Memory))
	}
	if m.all.PIDs != 0 {
		err = errors.Join(err, writeInt(filepath.Join(m.v1["pids"], m.parent), "pids.max", int64(m.all.PIDs)))
	}
	return err
}

func (m *Manager) boundParentV2(weight int64) error {
	dir := filepath.Join(m.v2, m.parent)
	err := errors.Join(writeInt(dir, "cpu.weight", weight), m.denyHugePages(dir))
	if m.all.Memory != 0 {
		err = errors.Join(err, limitMemoryV2(dir, m.all.Memory))
	}
	if m.all.PIDs != 0 {
		err = errors.Join(err, writeInt(dir, "pids.max", int64(m.all.PIDs)))
	}
	return err
}

// denyHugePages keeps all groups from the huge pages that the host has put aside, which no limit of memory counts. The list of
// system calls denies them too. On a host without a controller for them it returns nil.
func (m *Manager) denyHugePages(dir string) error {
	err := write(m.v2, "cgroup.subtree_control", "+hugetlb")
	if err != nil {
		return nil //nolint:nilerr // there is no such controller
	}
	files, err := filepath.Glob(filepath.Join(dir, "hugetlb.*.max"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".rsvd.max") {
			continue
		}
		if err := writeInt(dir, filepath.Base(file), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
