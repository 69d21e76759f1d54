package broker

import (
	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
)

// LimitsOf returns the limits of the sandbox's cgroup.
func LimitsOf(spec yurt.SandboxSpec) cgroup.Limits {
	r := spec.Limits()
	limits := cgroup.Limits{CPU: r.CPU, Memory: int64(r.Memory), PIDs: r.PIDs, IOWeight: r.IOWeight}
	if spec.Host != nil {
		limits.CPUWeight, limits.CPUs = spec.Host.CPUWeight, cgroup.CPUList(spec.Host.CPUs)
	}
	return limits
}

// maxOpenFiles is how many files a process in a sandbox may have open, unless its limits say otherwise.
const maxOpenFiles = 4096
