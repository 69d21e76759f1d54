package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt"
)

// limitDevicesV1 makes the directory, in which all devices are denied but the harmless
// ones that every sandbox has. It takes over the rules of the parent directory, which
// are set when that is made; should they not be there, it is given its own.
func (m *Manager) limitDevicesV1(dir string) error {
	if dir == "" {
		return nil // the nodes themselves cannot be made in a user namespace
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := os.Mkdir(filepath.Dir(dir), 0o755)
	if err == nil {
		err = denyDevicesV1(filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making a cgroup: %w", err)
	}
	rules, err := os.ReadFile(filepath.Join(dir, "devices.list"))
	if err != nil {
		return fmt.Errorf("reading devices.list: %w", err)
	}
	if string(rules) == allowedDevices {
		return nil
	}
	return denyDevicesV1(dir)
}

// denyDevicesV1 sets the rules. The directory must have no subdirectories yet: the kernel refuses later.
func denyDevicesV1(dir string) error {
	if err := write(dir, "devices.deny", "a"); err != nil {
		return err
	}
	for rule := range strings.Lines(allowedDevices) {
		if err := write(dir, "devices.allow", strings.TrimSpace(rule)); err != nil {
			return err
		}
	}
	return nil
}

// allowDevicesV1 allows the group more devices. A group may only have devices that the group above it has, so the
// parent gets them first, for good: it holds no process, and taking a device from it would take it from all other
// groups. Groups that are made later are denied these devices.
func (m *Manager) allowDevicesV1(dir, rules string) error {
	if dir == "" {
		return nil // there are no nodes but those that were made for the sandbox
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for rule := range strings.Lines(rules) {
		for _, place := range []string{filepath.Dir(dir), dir} {
			if err := write(place, "devices.allow", strings.TrimSpace(rule)); err != nil {
				return yurt.FieldErrorf(yurt.CodeLimitNotEnforceable, "host.devices", "this host does not allow sandboxes the device %s: %w", strings.TrimSpace(rule), err)
			}
		}
	}
	return nil
}
