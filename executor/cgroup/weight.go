package cgroup

import (
	"math"

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
