package broker

import (
	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
)

// LimitsOf returns the limits of the cgroup of a sandbox that has those resources.
func LimitsOf(r yurt.Resources, host *yurt.HostAccess) Limits {
	limits := Limits{CPU: r.CPU, Memory: int64(r.Memory), PIDs: r.PIDs, IOWeight: r.IOWeight}
	if host != nil {
		limits.CPUWeight, limits.CPUs = host.CPUWeight, cgroup.CPUList(host.CPUs)
	}
	return limits
}

// maxOpenFiles is how many files a process in a sandbox may have open, unless its limits say otherwise.
const maxOpenFiles = 4096
