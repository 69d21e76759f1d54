package broker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/oci"
)

// bindsOf returns the mounts of the host's directories, parents before their children.
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

// networkOf returns the path of the network namespace that the sandbox joins; "" for one of its own.
func networkOf(host *yurt.HostAccess) string {
	if host == nil {
		return ""
	}
	return host.NetworkNamespace
}

// hostnameOf returns the name of the host inside; "" for the default.
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

// initArgs returns the arguments of the sandbox's init.
func initArgs(r StartRequest) []string {
	args := []string{
		"-listen-fd=" + strconv.Itoa(launch.InitListenFD),
		"-filter-fd=" + strconv.Itoa(launch.InitFilterFD),
		"-homes-fd=" + strconv.Itoa(launch.InitHomesFD),
	}
	for _, path := range append(oci.Writable(), writableMounts(r.Host)...) {
		args = append(args, "-write="+path)
	}
	for _, path := range deviceTargets(r.Host) {
		args = append(args, "-device="+path)
	}
	if r.Host == nil || r.Host.NetworkNamespace == "" {
		args = append(args, "-own-network")
	}
	ulimits := r.Limits.Ulimits
	for _, l := range []struct {
		resource int
		value    int64
	}{{unix.RLIMIT_NOFILE, int64(ulimits.NoFile)}, {unix.RLIMIT_FSIZE, int64(ulimits.FSize)}, {unix.RLIMIT_STACK, int64(ulimits.Stack)}} {
		if l.value != 0 {
			args = append(args, fmt.Sprintf("-limit=%d=%d", l.resource, l.value))
		}
	}
	if r.Isolation.PerExecution {
		args = append(args, "-layer")
		for path, options := range oci.OwnOptions(r.Limits.Disk, r.Limits.Memory) {
			args = append(args, "-own="+path+"="+options)
		}
	}
	return args
}
