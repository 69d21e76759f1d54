package broker

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/seccomp"
)

// devicesOf looks for the devices on the node. A sandbox gets nodes of its own for them, by
// number: a later change of the node's own does not reach the sandbox.
func devicesOf(host *yurt.HostAccess) (list []layout.Device, err error) {
	if host == nil {
		return nil, nil
	}
	for _, d := range host.Devices {
		var stat unix.Stat_t
		if err := unix.Stat(d.Source, &stat); err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.devices", "looking for the device: %w", &os.PathError{Op: "stat", Path: d.Source, Err: err})
		}
		kind := stat.Mode & unix.S_IFMT
		if kind != unix.S_IFBLK && kind != unix.S_IFCHR {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.devices", "%s is no device; files and directories are mounted", d.Source)
		}
		list = append(list, layout.Device{
			Path: d.Target, Block: kind == unix.S_IFBLK, Major: unix.Major(stat.Rdev), Minor: unix.Minor(stat.Rdev), Access: string(d.Access),
		})
	}
	return list, nil
}

// deviceRules are the rules of cgroups that allow the devices, a line each.
func deviceRules(devices []layout.Device) string {
	var rules strings.Builder
	for _, d := range devices {
		fmt.Fprintf(&rules, "%s %d:%d %s\n", d.Kind(), d.Major, d.Minor, d.Access)
	}
	return rules.String()
}

// deviceTargets are the paths of the devices inside.
func deviceTargets(host *yurt.HostAccess) (paths []string) {
	if host == nil {
		return nil
	}
	for _, d := range host.Devices {
		paths = append(paths, d.Target)
	}
	return paths
}

// filterGroups are the groups of system calls that a sandbox has beside the base list.
func filterGroups(r StartRequest) []string {
	groups := slices.Clone(r.Isolation.SystemCalls)
	if len(deviceTargets(r.Host)) > 0 {
		groups = append(groups, seccomp.Devices)
	}
	return groups
}
