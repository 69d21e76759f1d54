package cgroup

import (
	"math"
	"path/filepath"
	"runtime"

	"github.com/yurtrun/yurt"
)

// The share of the processors of a sandbox with one core, which is the kernel's default.
const (
	coreWeight = 100  // in the terms of v2, and of [Limits]
	coreShares = 1024 // in those of v1
)

// weight is the share of the processors beside other sandboxes. It grows with the cores that a sandbox may use: with one weight
// for all, ten sandboxes of a tenth of a core each would take ten times as much as one of a whole core, whenever they all want
// processors at once.
func (l Limits) weight() int64 {
	if l.CPUWeight != 0 {
		return int64(l.CPUWeight)
	}
	return clampWeight(l.CPU * coreWeight)
}

func clampWeight(weight float64) int64 {
	return int64(min(max(math.Round(weight), 1), yurt.MaxCPUWeight))
}

// shares is a weight in the terms of v1.
func shares(weight int64) int64 { return weight * coreShares / coreWeight }

// weighParent gives all sandboxes together the weight of the machine's cores. With the kernel's default they would weigh as much
// as any one process beside them, and a sandbox would wait behind each when its neighbours have used that share up.
func (m *Manager) weighParent() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.weighed {
		return nil
	}
	all := clampWeight(float64(runtime.NumCPU()) * coreWeight)
	dir, file := filepath.Join(m.v2, m.parent), "cpu.weight"
	if m.v2 == "" {
		dir, file, all = filepath.Join(m.v1["cpu"], m.parent), "cpu.shares", shares(all)
	}
	err := writeInt(dir, file, all)
	m.weighed = err == nil
	return err
}
