package yurt

import (
	"path"
	"slices"
	"strings"
)

// HostAccess lists the parts of its node that a sandbox has beside the root file system of its
// template. A caller on the node itself may ask for it, such as Nomad's driver; a request over the
// network is refused.
type HostAccess struct {
	Mounts []Mount `json:"mounts,omitempty"`
	// NetworkNamespace is the path of a network namespace that the sandbox joins, such as
	// /var/run/netns/NAME, or [NodeNetwork]. "" is one of its own.
	NetworkNamespace string `json:"network_namespace,omitempty"`
	// Hostname is the sandbox's host name; "" is that of all sandboxes.
	Hostname string `json:"hostname,omitempty"`
	// CPUWeight is its share of the processors beside other sandboxes, 1 to 10000, of which 100 is
	// usual. 0 is the kernel's default.
	CPUWeight int `json:"cpu_weight,omitempty"`
	// CPUs are the processors that it runs on, by number; all of them if the list is empty. Other
	// processes may run there too.
	CPUs []int `json:"cpus,omitempty"`
	// Devices are of the node's hardware. The device's driver in the kernel decides how far a
	// sandbox can affect the node through it.
	Devices []Device `json:"devices,omitempty"`
}

// NodeNetwork stands for the network namespace of the node itself.
const NodeNetwork = "node"

func (h *HostAccess) validateNetwork(field string) error {
	if ns := h.NetworkNamespace; ns != "" && ns != NodeNetwork && !cleanAbs(ns) {
		return FieldErrorf(CodeInvalidArgument, field+".network_namespace", "%q is neither an absolute path nor %q", ns, NodeNetwork)
	}
	if h.Hostname != "" && !ValidHostname(h.Hostname) {
		return FieldErrorf(CodeInvalidArgument, field+".hostname", "%q is not a host name; give letters, digits, dashes and dots, at most %d", h.Hostname, MaxHostname)
	}
	return nil
}

// MaxHostname is how long a host name may be, in bytes: the kernel keeps no longer one.
const MaxHostname = 64

// ValidHostname reports whether the name can be a sandbox's host name: labels of letters,
// digits and dashes, with dots between.
func ValidHostname(name string) bool {
	if len(name) > MaxHostname {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, notHostnameRune) {
			return false
		}
	}
	return true
}

func notHostnameRune(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// Mount is a file or directory of the node inside a sandbox.
type Mount struct {
	// Base is a directory that no sandbox can change. Source is below it then, and no part of the
	// path may be a link.
	Base     string `json:"base,omitempty"`
	Source   string `json:"source"` // absolute, unless there is a base; links are followed
	Target   string `json:"target"` // absolute, inside; of a directory unless it is read-only
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Bounds of [HostAccess].
const (
	MaxMounts    = 128
	MaxDevices   = 32
	MaxCPUWeight = 10000
	MaxCPUs      = 8192 // processors that a kernel can be made for
)

// Validate makes the checks that need no look at a node. field is the path that errors name.
func (h *HostAccess) Validate(field string) error {
	if h == nil {
		return nil
	}
	if len(h.Mounts) > MaxMounts {
		return FieldErrorf(CodeLimitOutOfRange, field+".mounts", "%d were given; give at most %d", len(h.Mounts), MaxMounts)
	}
	if h.CPUWeight < 0 || h.CPUWeight > MaxCPUWeight {
		return FieldErrorf(CodeLimitOutOfRange, field+".cpu_weight", "%d is out of range; give 1 to %d", h.CPUWeight, MaxCPUWeight)
	}
	if len(h.CPUs) > MaxCPUs || slices.ContainsFunc(h.CPUs, func(cpu int) bool { return cpu < 0 || cpu >= MaxCPUs }) {
		return FieldErrorf(CodeLimitOutOfRange, field+".cpus", "give at most %d numbers of processors, of 0 to %d", MaxCPUs, MaxCPUs-1)
	}
	if err := h.validateNetwork(field); err != nil {
		return err
	}
	if err := validateDevices(field+".devices", h.Devices); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, m := range h.Mounts {
		if err := m.validate(field + ".mounts"); err != nil {
			return err
		}
		if seen[m.Target] {
			return FieldErrorf(CodeInvalidArgument, field+".mounts", "two mounts have the target %s; a place can hold one", m.Target)
		}
		seen[m.Target] = true
	}
	return nil
}

func (m Mount) validate(field string) error {
	if m.Base != "" && (!cleanAbs(m.Base) || !cleanBelow(m.Source)) {
		return FieldErrorf(CodeInvalidArgument, field, "the source %q is not a clean path below %q", m.Source, m.Base)
	}
	if m.Base == "" && !cleanAbs(m.Source) {
		return FieldErrorf(CodeInvalidArgument, field, "the source %q is not an absolute and clean path", m.Source)
	}
	if !cleanAbs(m.Target) || m.Target == "/" {
		return FieldErrorf(CodeInvalidArgument, field, "the target %q is not an absolute and clean path below the root", m.Target)
	}
	for _, taken := range []string{"/proc", "/dev", "/tmp", "/run/yurt", "/.yurt-init", WorkspaceDir} {
		if m.Target == taken || strings.HasPrefix(m.Target, taken+"/") {
			return FieldErrorf(CodeInvalidArgument, field, "the target %s is in %s, which every sandbox has of its own", m.Target, taken)
		}
	}
	return nil
}

func cleanAbs(name string) bool {
	return path.IsAbs(name) && path.Clean(name) == name && len(name) <= MaxPathBytes && !strings.ContainsRune(name, 0)
}

// cleanBelow reports whether the name is a relative path that leads downwards alone.
func cleanBelow(name string) bool {
	return name != "" && cleanAbs(path.Join("/", name)) && path.Join("/", name) == "/"+name
}

// LogFiles are files of the node that an execution's output is written to: NAME.0,
// NAME.1 and so on in one directory, the last of which grows.
type LogFiles struct {
	Base     string `json:"base"`      // an absolute directory that no sandbox can change
	Dir      string `json:"dir"`       // below it, relative; no part of the path may be a link
	Stdout   string `json:"stdout"`    // name of the files, such as "web.stdout"
	Stderr   string `json:"stderr"`    // likewise
	MaxFiles int    `json:"max_files"` // that are kept of each
	MaxSize  Size   `json:"max_size"`  // bytes of a file; a line is in one file if it can be
}

// Bounds of [LogFiles].
const (
	MaxLogFiles = 1000
	MinLogSize  = 4 << 10
)

// Validate makes the checks that need no look at a node.
func (l *LogFiles) Validate(field string) error {
	switch {
	case l == nil:
		return nil
	case !cleanAbs(l.Base):
		return FieldErrorf(CodeInvalidArgument, field+".base", "%q is not an absolute and clean path", l.Base)
	case !cleanBelow(l.Dir):
		return FieldErrorf(CodeInvalidArgument, field+".dir", "%q is not a clean path below the base", l.Dir)
	case l.Stdout == l.Stderr:
		return FieldErrorf(CodeInvalidArgument, field+".stderr", "it has the name of stdout's files, %q; each needs its own", l.Stdout)
	case l.MaxFiles < 1 || l.MaxFiles > MaxLogFiles:
		return FieldErrorf(CodeLimitOutOfRange, field+".max_files", "%d is out of range; give 1 to %d", l.MaxFiles, MaxLogFiles)
	case l.MaxSize < MinLogSize:
		return FieldErrorf(CodeLimitOutOfRange, field+".max_size", "%s is too small; give %s or more", l.MaxSize, Size(MinLogSize))
	}
	return l.validateNames(field)
}

func (l *LogFiles) validateNames(field string) error {
	for _, name := range []struct{ field, value string }{{"stdout", l.Stdout}, {"stderr", l.Stderr}} {
		if name.value == "" || len(name.value) > 200 || strings.ContainsAny(name.value, "/\x00") || strings.HasPrefix(name.value, ".") {
			return FieldErrorf(CodeInvalidArgument, field+"."+name.field, "%q is not the name of a file", name.value)
		}
	}
	return nil
}

// User is the account that an execution runs as, inside its sandbox.
type User struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

// MaxUserID is the last id that a sandbox has.
const MaxUserID = 65534

// Validate refuses root, which no user code ever is, and ids that no sandbox has.
func (u *User) Validate(field string) error {
	switch {
	case u == nil:
		return nil
	case u.UID == 0 || u.GID == 0:
		return FieldErrorf(CodeForbidden, field, "nothing runs as root, not even inside a sandbox; give another user")
	case u.UID > MaxUserID || u.GID > MaxUserID:
		return FieldErrorf(CodeLimitOutOfRange, field, "%d:%d is out of range; give ids of 1 to %d", u.UID, u.GID, MaxUserID)
	}
	return nil
}

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
