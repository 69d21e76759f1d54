package taskspec

import (
	"path/filepath"
	"strings"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
)

// devices are those of the job's device blocks. Nomad has them from its device plugins, and
// no job can name one. The variables and the mounts that belong to them come with the task's.
func devices(config *drivers.TaskConfig) (list []yurt.Device, err error) {
	for _, d := range config.GetDevices() {
		access, err := deviceAccess(d.GetCgroupPermissions())
		if err != nil {
			return nil, err
		}
		list = append(list, yurt.Device{Source: filepath.Clean(d.GetHostPath()), Target: filepath.Clean(d.GetTaskPath()), Access: access})
	}
	return list, nil
}

// deviceAccess reads permissions as cgroups have them; empty means all. Permission to make nodes, "m", has no effect: no process
// in a sandbox can make one.
func deviceAccess(permissions string) (yurt.DeviceAccess, error) {
	if permissions == "" {
		return yurt.DeviceReadWrite, nil
	}
	var access string
	for _, letter := range []string{"r", "w"} {
		if strings.Contains(permissions, letter) {
			access += letter
		}
	}
	if strings.Trim(permissions, "rwm") != "" || access == "" {
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "device", "its plugin gives the permissions %q; they are made of r, w and m, and r or w is among them", permissions)
	}
	return yurt.DeviceAccess(access), nil
}
