package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/inotify"
)

// Limits are the resources that the runs of a sandbox may use together.
type Limits struct {
	CPU    float64 // cores
	Memory int64   // bytes, swap included
	PIDs   int

	CPUs string // processors to run on, see [CPUList]; "" for all

	Devices string // that may be used beside the harmless ones: lines such as "c 195:0 rw"; "" for none

	CPUWeight int // share of the processors, 1 to 10000; 0 for one that grows with CPU, see weight
	IOWeight  int // share of the disks' time, 1 to 1000; 0 for the kernel's default, 100
}

// The share of yurt-init itself, beside the limits of its runs.
const (
	initMemory = 128 << 20 // bytes; the output that it holds for the host counts here
	initPIDs   = 64        // threads
)

// cpuPeriod is the period of the CPU quota, in microseconds: the kernel's default.
const cpuPeriod = 100_000

// Group is the cgroup of one sandbox. Its methods are for one goroutine at a time,
// but for those of [Gauge] and [Leaves], which any may call.
type Group interface {
	Freezer
	Gauge
	Leaves
	// MemoryAlarm goes off when the runs have no memory left. The caller closes it. The group must be settled.
	MemoryAlarm() (Alarm, error)
	// BirthFiles are the v1 tasks files that the launching thread enters, so that init is born in its place. On v2 the
	// list is empty; see [Manager.BirthPath].
	BirthFiles() ([]*os.File, error)
	// HomeFiles are the v1 tasks files of init's forking thread, those of the hierarchies in which a run has a leaf
	// first. On v2 the list is empty.
	HomeFiles() ([]*os.File, error)
	// Settle puts init into its place, once it is born, and the limits in force.
	Settle(initPID int) error
	// Limit replaces the limits of a group that is settled and has not run user code yet: the kernel cannot take away
	// memory that is in use.
	Limit(limits Limits) error
	// Destroy kills all processes inside, init included, and removes the group.
	Destroy(ctx context.Context) error
}

// Leaves is the cgroups of the runs in a group.
type Leaves interface {
	// Prepare does a part of the next TakeLeaf's work ahead, so that no run waits for it. A leaf is never used for two runs.
	Prepare() error
	// TakeLeaf makes the cgroup of one run. The leaf gets its name only when the caller calls Name. The caller must do so
	// soon, and may while a process is born in the leaf.
	TakeLeaf(name string) (Leaf, error)
	// Ahead makes the leaf of a run that is not known yet, which gets its name by [Leaf.NameAfter]. It fails with [ErrBusy] while
	// another leaf waits for its name: a group has at most one.
	Ahead() (Leaf, error)
	// NewPlace makes a leaf ahead that is called name until a run takes it; [errors.ErrUnsupported]
	// on v1, where there is no need.
	NewPlace(name string) (Place, error)
	// Reclaim gives the leaf of a run its name, should an executor before this one have ended
	// before it did. It is for runs that did begin.
	Reclaim(name string) error
	// Find returns the cgroup of a run that was made earlier, or has taken a place. A missing one is [os.ErrNotExist].
	Find(name string) (Leaf, error)
	// Close closes the files that Prepare opened; it does not change the group.
	Close()
}

// Leaf is the cgroup of one run.
type Leaf interface {
	// Files are the files by which yurt-init lets the run be born here. The caller closes them.
	Files() ([]*os.File, error)
	// Name gives it its name, after [Group.TakeLeaf]. If it fails, all else can be done still.
	Name() error
	// NameAfter gives it the name of its run, after [Leaves.Ahead].
	NameAfter(run string) error
	// Kill ends every process inside, however it tries to get away. It returns when all have ended.
	Kill(ctx context.Context) error
	// Meter returns the files with the run's usage. The caller closes it.
	Meter() (*Meter, error)
	// AwaitEnds returns when the processes inside have ended, or ctx has. It reports whether it has watched any.
	AwaitEnds(ctx context.Context) (watched bool)
	// Remove removes the leaf; it fails with [ErrBusy] while processes are inside.
	Remove() error
	// Close closes the files that were opened ahead and not handed out. It does not change the cgroup, and all methods still
	// work, more slowly.
	Close()
}

// ErrBusy says that processes are still in the cgroup.
var ErrBusy = errors.New("cgroup is not empty")

// Manager makes groups below one parent directory in each hierarchy.
type Manager struct {
	parent string
	v2     string            // mount point; "" if v1 controllers are in use
	v1     map[string]string // controller → mount point

	watches *inotify.Shared // for alarms on v2

	mu      sync.Mutex // held while the parent directory comes to be, with its rules
	all     All        // bounds of all groups together
	bounded bool       // the parent directory has them, and its weight
}

// maxAlarms bounds the alarms of all groups: one a sandbox, of which a node has fewer.
const maxAlarms = 1 << 16

// required are the controllers without which no sandbox is made.
func required() []string { return []string{"memory", "cpu", "pids"} }

// Open finds the hierarchies of this host. parent is the name, below their roots,
// of the directory that all groups go to.
func Open(parent string) (*Manager, error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading cgroup mounts: %w", err)
	}
	defer mounts.Close()
	m := &Manager{parent: parent, v1: make(map[string]string), watches: inotify.New(maxAlarms)}
	if err := m.findMounts(mounts); err != nil {
		return nil, err
	}
	return m, m.check()
}

// findMounts fills in the mount points. The format is that of proc(5).
func (m *Manager) findMounts(mountinfo io.Reader) error {
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, tail := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(tail) < 3 || fields[3] != "/" {
			continue
		}
		switch tail[0] {
		case "cgroup2":
			m.v2 = fields[4]
		case "cgroup":
			for _, option := range strings.Split(tail[2], ",") {
				if slices.Contains([]string{"memory", "cpu", "cpuacct", "pids", "freezer", "devices", "blkio", "cpuset"}, option) {
					m.v1[option] = fields[4]
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading cgroup mounts: %w", err)
	}
	if m.v1["memory"] != "" {
		m.v2 = "" // hybrid: the controllers are on v1
	}
	return nil
}

func (m *Manager) check() error {
	if m.v2 != "" {
		return checkV2(m.v2)
	}
	for _, c := range append(required(), "cpuacct", "freezer") {
		if m.v1[c] == "" {
			return yurt.Errorf(yurt.CodeLimitNotEnforceable, "this host has no cgroup controller %q, so sandboxes cannot be limited; mount it below /sys/fs/cgroup and start again", c)
		}
	}
	return nil
}

// Version returns 1 or 2.
func (m *Manager) Version() int {
	if m.v2 != "" {
		return 2
	}
	return 1
}

// CheckIO returns an error if this host has no share of disks' time to give.
func (m *Manager) CheckIO() error {
	have := m.v1["blkio"] != ""
	if m.Version() == 2 {
		list, err := os.ReadFile(filepath.Join(m.v2, "cgroup.controllers"))
		if err != nil {
			return fmt.Errorf("reading cgroup controllers: %w", err)
		}
		have = slices.Contains(strings.Fields(string(list)), "io")
	}
	if !have {
		return yurt.FieldErrorf(yurt.CodeLimitNotEnforceable, "resources.io_weight", "this host has no cgroup controller for disks; leave io_weight out, or mount blkio (version 1) or enable io (version 2)")
	}
	return nil
}

// weigh sets the share of disk time through each of the files that the kernel has.
func weigh(dir string, weight int, files ...string) error {
	set := false
	for _, file := range files {
		err := writeInt(dir, file, int64(weight))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		set = true
	}
	if !set {
		return yurt.FieldErrorf(yurt.CodeLimitNotEnforceable, "resources.io_weight", "this kernel knows no weights of disks' time; leave io_weight out")
	}
	return nil
}

// Create makes the group of a new sandbox. Of its limits some are in force when it has been settled,
// see [Group].
func (m *Manager) Create(name string, limits Limits) (Group, error) {
	if m.Version() == 2 {
		return m.createV2(name, limits)
	}
	return m.createV1(name, limits)
}

// BirthPath is the v2 cgroup, below the mount, that the init of a sandbox of that name is
// born in; "" on v1.
func (m *Manager) BirthPath(name string) string {
	if m.Version() == 2 {
		return filepath.Join("/", m.parent, name)
	}
	return ""
}

// Open returns the group of a sandbox that was made earlier.
func (m *Manager) Open(name string) Group {
	if m.Version() == 2 {
		return m.groupV2(name, Limits{})
	}
	return m.groupV1(name, optionalControllers()...)
}

// CheckName returns an error unless the name is that of a directory below the parent.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "sandbox_id", "%q cannot be the name of a cgroup; a name is not empty and has no slash", name)
	}
	return nil
}

// Has reports whether there is a group of that name, which [CheckName] accepts.
func (m *Manager) Has(name string) (bool, error) {
	_, err := os.Lstat(m.memoryDir(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// memoryDir is the directory of a group in the hierarchy with the controller of memory.
func (m *Manager) memoryDir(name string) string {
	if m.Version() == 2 {
		return filepath.Join(m.v2, m.parent, name)
	}
	return filepath.Join(m.v1["memory"], m.parent, name)
}

// MemoryLimit returns the limit of memory of the runs of a group that is settled, in bytes.
func (m *Manager) MemoryLimit(name string) (int64, error) {
	file := "memory.limit_in_bytes"
	if m.Version() == 2 {
		file = "memory.max"
	}
	return readInt(filepath.Join(m.memoryDir(name), "runs"), file)
}

// Names lists the groups below the parent.
func (m *Manager) Names() ([]string, error) {
	entries, err := os.ReadDir(m.memoryDir(""))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing cgroups: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// RemoveParent removes the parent directories if they are empty.
func (m *Manager) RemoveParent() {
	roots := []string{m.v2}
	if m.Version() == 1 {
		roots = slices.Collect(maps.Values(m.v1))
	}
	for _, root := range roots {
		os.Remove(filepath.Join(root, m.parent)) // fails while another executor uses it, as it should
	}
}
