package yurt

import (
	"slices"
	"strings"
)

// Device is a device of the node inside a sandbox, which all users there may use.
type Device struct {
	Source string       `json:"source"` // absolute path of the device on the node; links are followed
	Target string       `json:"target"` // path inside, below /dev
	Access DeviceAccess `json:"access"`
}

// DeviceAccess lists the operations that a sandbox may perform on a [Device]. Making further nodes
// of the device is never among them.
type DeviceAccess string

// The operations on devices.
const (
	DeviceRead      DeviceAccess = "r"
	DeviceWrite     DeviceAccess = "w"
	DeviceReadWrite DeviceAccess = "rw"
)

const deviceDir = "/dev/"

// takenDevices are the names that every sandbox has in its /dev already.
func takenDevices() []string {
	return []string{"console", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
}

func validateDevices(field string, devices []Device) error {
	if len(devices) > MaxDevices {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d were given; give at most %d", len(devices), MaxDevices)
	}
	for i, d := range devices {
		if err := d.validate(field); err != nil {
			return err
		}
		for _, other := range devices[:i] {
			if d.Target == other.Target || strings.HasPrefix(d.Target, other.Target+"/") || strings.HasPrefix(other.Target, d.Target+"/") {
				return FieldErrorf(CodeInvalidArgument, field, "the targets %s and %s are in each other's way; a place can hold one", other.Target, d.Target)
			}
		}
	}
	return nil
}

func (d Device) validate(field string) error {
	switch d.Access {
	case DeviceRead, DeviceWrite, DeviceReadWrite:
	default:
		return FieldErrorf(CodeInvalidArgument, field, "the access %q is none; give %q, %q or %q", d.Access, DeviceRead, DeviceWrite, DeviceReadWrite)
	}
	if !cleanAbs(d.Source) {
		return FieldErrorf(CodeInvalidArgument, field, "the source %q is not an absolute and clean path", d.Source)
	}
	below, ok := strings.CutPrefix(d.Target, deviceDir)
	if !ok || !cleanAbs(d.Target) {
		return FieldErrorf(CodeInvalidArgument, field, "the target %q is not a clean path below /dev, where alone devices are", d.Target)
	}
	first, _, _ := strings.Cut(below, "/")
	if slices.Contains(takenDevices(), first) {
		return FieldErrorf(CodeInvalidArgument, field, "the target %s is /dev/%s, which every sandbox has of its own", d.Target, first)
	}
	return nil
}
