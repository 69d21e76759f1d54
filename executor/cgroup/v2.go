package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/inotify"
)

// groupV2 is one directory of the unified hierarchy.
type groupV2 struct {
	dir     string
	limits  Limits
	watches *inotify.Shared
	spare   spareV2
}

func (m *Manager) groupV2(name string, limits Limits) *groupV2 {
	return &groupV2{dir: filepath.Join(m.v2, m.parent, name), limits: limits, watches: m.watches}
}

func (m *Manager) createV2(name string, limits Limits) (Group, error) {
	parent := filepath.Join(m.v2, m.parent)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	for _, dir := range []string{m.v2, parent} {
		if err := enable(dir); err != nil {
			return nil, err
		}
	}
	if err := m.boundParent(); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	g := m.groupV2(name, limits)
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	err := limitCPUV2(g.dir, limits)
	if err == nil && limits.IOWeight != 0 {
		err = m.weighV2(g.dir, limits.IOWeight)
	}
	if err == nil && limits.CPUs != "" {
		err = m.pinV2(g.dir, limits.CPUs)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(g.dir))
	}
	return g, nil
}

// weighV2 hands on the controller of disks, which only those need that ask for it.
func (m *Manager) weighV2(dir string, weight int) error {
	for _, above := range []string{m.v2, filepath.Dir(dir)} {
		if err := write(above, "cgroup.subtree_control", "+io"); err != nil {
			return yurt.FieldErrorf(yurt.CodeLimitNotEnforceable, "resources.io_weight", "shares of disks' time cannot be given below %s: %w", above, err)
		}
	}
	return weigh(dir, weight, "io.weight", "io.bfq.weight")
}

// limitCPUV2 sets the weight and the quota, which holds for init too: the output it handles is the
// runs' doing.
func limitCPUV2(dir string, limits Limits) error {
	return errors.Join(
		writeInt(dir, "cpu.weight", limits.weight()),
		write(dir, "cpu.max", fmt.Sprintf("%d %d", int64(limits.CPU*cpuPeriod), int64(cpuPeriod))),
	)
}

func (g *groupV2) Limit(limits Limits) error {
	return errors.Join(limitCPUV2(g.dir, limits), limitRunsV2(filepath.Join(g.dir, "runs"), limits))
}

func limitRunsV2(dir string, limits Limits) error {
	return errors.Join(limitMemoryV2(dir, limits.Memory), writeInt(dir, "pids.max", int64(limits.PIDs)))
}

// checkV2 returns the reason if limits below the root of the hierarchy are impossible. It changes no file.
func checkV2(root string) error {
	missing, err := lacks(root, "cgroup.controllers")
	if err != nil {
		return err
	}
	if missing != "" {
		return yurt.Errorf(yurt.CodeLimitNotEnforceable, "this host has no cgroup v2 controller %q at %s, so its limit cannot be enforced; enable it and start again", missing, root)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(root, &fs); err != nil {
		return fmt.Errorf("looking at the cgroups: %w", err)
	}
	if fs.Flags&unix.ST_RDONLY != 0 {
		return yurt.Errorf(yurt.CodeLimitNotEnforceable, "the cgroups at %s are read-only here, so limits cannot be set; run Yurt on the host itself, or in a container that may write to them", root)
	}
	return checkHandOver(root)
}

// checkHandOver is about the root of a container, which the kernel lets hand its
// controllers on only while it holds no process itself. That of a host always may.
func checkHandOver(root string) error {
	if _, err := os.Stat(filepath.Join(root, "cgroup.type")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	missing, err := lacks(root, "cgroup.subtree_control")
	if missing == "" || err != nil {
		return err
	}
	inside, err := pids(root)
	if len(inside) == 0 || err != nil {
		return err
	}
	return yurt.Errorf(yurt.CodeLimitNotEnforceable, "the cgroup at %s is not the host's root and holds %d processes, so controller %q cannot be handed to sandboxes; move those processes to a group below it and start again", root, len(inside), missing)
}

// lacks returns the first required controller that the control file does not list.
func lacks(dir, file string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return "", fmt.Errorf("reading cgroup controllers: %w", err)
	}
	have := strings.Fields(string(data))
	for _, c := range required() {
		if !slices.Contains(have, c) {
			return c, nil
		}
	}
	return "", nil
}

// enable hands the controllers that limits need to the directories below dir.
func enable(dir string) error {
	if err := write(dir, "cgroup.subtree_control", "+memory +cpu +pids"); err != nil {
		return yurt.Errorf(yurt.CodeLimitNotEnforceable, "limits cannot be enforced below %s: %w", dir, err)
	}
	return nil
}

func (g *groupV2) BirthFiles() ([]*os.File, error) { return nil, nil }

func (g *groupV2) HomeFiles() ([]*os.File, error) { return nil, nil }

// Settle moves init, born at the top so that its cgroup namespace is rooted
// there, into its place. Controllers can be handed on only from a directory
// without processes, so the limits follow; no user code exists before.
func (g *groupV2) Settle(initPID int) error {
	initDir, runs := filepath.Join(g.dir, "init"), filepath.Join(g.dir, "runs")
	for _, dir := range []string{initDir, runs} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("making a cgroup: %w", err)
		}
	}
	if err := writeInt(initDir, "cgroup.procs", int64(initPID)); err != nil {
		return err
	}
	if err := errors.Join(enable(g.dir), enable(runs)); err != nil {
		return err
	}
	if err := g.letFork(initPID); err != nil {
		return err
	}
	return errors.Join(
		limitMemoryV2(initDir, initMemory),
		writeInt(initDir, "pids.max", initPIDs),
		limitRunsV2(runs, g.limits),
	)
}

func limitMemoryV2(dir string, bytes int64) error {
	if err := writeInt(dir, "memory.max", bytes); err != nil {
		return err
	}
	err := writeInt(dir, "memory.swap.max", 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without swap
	}
	return err
}

// letFork lets init start processes in the cgroups of runs: the kernel wants it to
// own cgroup.procs there, see newLeaf, and at the common ancestor.
func (g *groupV2) letFork(initPID int) error {
	// Not the owner of /proc/PID, which is root for a process that is not dumpable.
	uid, err := statusField(initPID, "Uid:")
	if err != nil {
		return err
	}
	gid, err := statusField(initPID, "Gid:")
	if err != nil {
		return err
	}
	return os.Chown(filepath.Join(g.dir, "cgroup.procs"), uid, gid)
}

// statusField returns the effective id in a line of /proc/PID/status.
func statusField(pid int, key string) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("finding the owner of init: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == key {
			return strconv.Atoi(fields[2])
		}
	}
	return 0, fmt.Errorf("finding the owner of init: no %s in its status", key)
}

func (g *groupV2) newLeaf(name string) (*leafV2, error) {
	leaf := g.leaf(name)
	if err := os.Mkdir(leaf.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	var top syscall.Stat_t
	if err := syscall.Stat(filepath.Join(g.dir, "cgroup.procs"), &top); err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	if err := os.Chown(filepath.Join(leaf.dir, "cgroup.procs"), int(top.Uid), int(top.Gid)); err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	return leaf, nil
}

func (g *groupV2) leaf(name string) *leafV2 {
	return &leafV2{dir: filepath.Join(g.dir, "runs", name)}
}

func (g *groupV2) Destroy(ctx context.Context) error {
	if err := killV2(ctx, g.dir); err != nil {
		return err
	}
	return removeTree(ctx, g.dir)
}

// Close implements [Group].
func (g *groupV2) Close() { g.spare.close() }

// leafV2 is the cgroup of one run.
type leafV2 struct {
	dir   string
	group *groupV2 // while it has no name; nil otherwise
}

// Close implements [Leaf].
func (l *leafV2) Close() {}

func (l *leafV2) Files() ([]*os.File, error) {
	dir, err := os.Open(l.dir)
	if err != nil {
		return nil, fmt.Errorf("opening a cgroup: %w", err)
	}
	return []*os.File{dir}, nil
}

func (l *leafV2) Kill(ctx context.Context) error { return killV2(ctx, l.dir) }

// Meter implements [Leaf].
func (l *leafV2) Meter() (*Meter, error) {
	return openMeter(meterFiles{
		meterCPU:    filepath.Join(l.dir, "cpu.stat"),
		meterKills:  filepath.Join(l.dir, "memory.events"),
		meterMemory: filepath.Join(l.dir, "memory.peak"), // Linux 5.19
	}, usageV2)
}

// AwaitEnds implements [Leaf].
func (l *leafV2) AwaitEnds(ctx context.Context) bool { return awaitEnds(ctx, l.dir) }

func (l *leafV2) Remove() error {
	err := os.Remove(l.dir)
	switch {
	case err == nil || errors.Is(err, os.ErrNotExist):
		l.leaveSpare()
		return nil
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%s: %w", l.dir, ErrBusy)
	default:
		return fmt.Errorf("removing a cgroup: %w", err)
	}
}
