package executor

import (
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/launch"
)

// bindsOf are the mounts, parents before what is in them.
func bindsOf(host *yurt.HostAccess) []launch.Bind {
	if host == nil {
		return nil
	}
	binds := make([]launch.Bind, 0, len(host.Mounts))
	for _, m := range host.Mounts {
		binds = append(binds, launch.Bind(m))
	}
	slices.SortStableFunc(binds, func(a, b launch.Bind) int { return strings.Compare(a.Target, b.Target) })
	return binds
}

func networkOf(host *yurt.HostAccess) string {
	if host == nil {
		return ""
	}
	return host.NetworkNamespace
}

func hostnameOf(host *yurt.HostAccess) string {
	if host == nil {
		return ""
	}
	return host.Hostname
}

// writableMounts are the targets that user code may write to.
func writableMounts(host *yurt.HostAccess) (paths []string) {
	if host == nil {
		return nil
	}
	for _, m := range host.Mounts {
		if !m.ReadOnly {
			paths = append(paths, m.Target)
		}
	}
	return paths
}
