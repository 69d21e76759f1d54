package taskspec

import (
	"path/filepath"
	"slices"
	"strings"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
)

// hostAccess is the sandbox's access to the node: Nomad's directories, volumes, mounts and the network, with the files that have
// to be written for it.
func (c *Config) hostAccess(config *drivers.TaskConfig, operator pluginconfig.Config) (*yurt.HostAccess, []nameFile, error) {
	host, err := c.hardware(config)
	if err != nil {
		return nil, nil, err
	}
	if host.Mounts, err = c.mounts(config, operator); err != nil {
		return nil, nil, err
	}
	if host.NetworkNamespace, err = c.network(config, operator); err != nil {
		return nil, nil, err
	}
	if host.Hostname, err = c.hostname(config, host.NetworkNamespace); err != nil {
		return nil, nil, err
	}
	names, err := nameFiles(config, host.NetworkNamespace, host.Hostname)
	if err != nil {
		return nil, nil, err
	}
	host.Mounts = named(config, host.NetworkNamespace, names, host.Mounts)
	return host, names, host.Validate("mounts")
}

// hardware is the share of the node's processors and devices that Nomad grants the task.
func (*Config) hardware(config *drivers.TaskConfig) (host *yurt.HostAccess, err error) {
	linux := config.GetResources().GetLinuxResources()
	host = &yurt.HostAccess{CPUWeight: weight(linux)}
	if host.CPUs, err = cpuset(linux); err != nil {
		return nil, err
	}
	host.Devices, err = devices(config)
	return host, err
}

// mounts are Nomad's directories and volumes, and those of the config block.
func (c *Config) mounts(config *drivers.TaskConfig, operator pluginconfig.Config) ([]yurt.Mount, error) {
	mounts := Directories(config)
	for _, m := range config.GetMounts() {
		// Nomad made them, of volumes that the operator has or from a plugin of Nomad's.
		mounts = append(mounts, yurt.Mount{Source: filepath.Clean(m.GetHostPath()), Target: filepath.Clean(m.GetTaskPath()), ReadOnly: m.GetReadonly()})
	}
	for _, m := range c.Mounts {
		mount, err := m.mount(config, operator)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount)
	}
	return mounts, nil
}

// Directories are those that Nomad gives every task.
func Directories(config *drivers.TaskConfig) []yurt.Mount {
	dir, task := config.GetAllocDir(), config.GetName()
	return []yurt.Mount{
		{Source: filepath.Join(dir, "alloc"), Target: "/alloc"},
		{Source: filepath.Join(dir, task, "local"), Target: "/local"},
		{Source: filepath.Join(dir, task, "secrets"), Target: "/secrets"},
	}
}

// mount is one of the config block's. A relative source is in the task's directory, which
// the task itself can fill with links.
func (m mountConfig) mount(config *drivers.TaskConfig, operator pluginconfig.Config) (yurt.Mount, error) {
	mount := yurt.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly}
	if !filepath.IsAbs(m.Source) {
		mount.Base = taskDir(config)
		if m.Source == "" || !filepath.IsLocal(m.Source) {
			return mount, yurt.FieldErrorf(yurt.CodeInvalidArgument, "mounts.source", "%q leads out of the task's directory; give a path such as local/data", m.Source)
		}
		mount.Source = filepath.Clean(m.Source)
		return mount, nil
	}
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return mount, yurt.FieldErrorf(yurt.CodeInvalidArgument, "mounts.source", "%w", err)
	}
	if !slices.ContainsFunc(operator.HostMounts, func(root string) bool {
		return real == root || strings.HasPrefix(real, strings.TrimSuffix(root, "/")+"/")
	}) {
		return mount, yurt.FieldErrorf(yurt.CodeForbidden, "mounts.source", "%s is not offered on this node; the operator's plugin block offers %s (host_mounts); take one of those, a path in the task's directory or a volume",
			real, orNone(operator.HostMounts))
	}
	mount.Source = real
	return mount, nil
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// network says which network namespace the task is in: that of its group where there is
// one, the node's if it is to have ports there, and one of its own otherwise.
func (c *Config) network(config *drivers.TaskConfig, operator pluginconfig.Config) (string, error) {
	isolation := config.GetNetworkIsolationSpec()
	group := isolation.GetPath() != "" && isolation.GetMode() == drivers.NetworkIsolationSpec_GROUP
	mode := c.Network
	if mode == "" {
		switch {
		case group:
			mode = networkGroup
		case len(config.GetResources().GetPorts()) > 0:
			mode = networkHost
		}
	}
	switch {
	case mode == networkGroup && !group:
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "network", "%q is the network of the task's group, which has none; give the group a network block with mode = \"bridge\"", networkGroup)
	case mode == networkGroup:
		return isolation.GetPath(), nil
	case mode == networkHost && !operator.HostNetwork:
		return "", forbiddenNetwork()
	case mode == networkHost:
		return yurt.NodeNetwork, nil
	default:
		return "", nil
	}
}
