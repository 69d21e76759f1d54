package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// leafControllers are those in which every run has a cgroup of its own: enough to measure and to kill it.
func leafControllers() []string { return []string{"memory", "cpuacct", "freezer"} }

// sharedControllers are those whose limits hold for all runs of a sandbox together.
func sharedControllers() []string { return []string{"cpu", "pids", "devices"} }

// optionalControllers are those in which a sandbox has a cgroup only if it asks for such a limit.
func optionalControllers() []string { return []string{"blkio", "cpuset"} }

// groupV1 is a directory of the same name in each hierarchy.
type groupV1 struct {
	leafDirs   []string // of this sandbox in the hierarchies with leaves, each once
	sharedDirs []string // in the others
	dir        map[string]string
	limits     Limits // for Settle
	inForce    Limits // those that Limit has set; zero if this process does not know them
	spare      spare
}

// groupV1 is the group of that name, with the optional controllers that it has, or may have.
func (m *Manager) groupV1(name string, optional ...string) *groupV1 {
	g := &groupV1{dir: make(map[string]string)}
	add := func(list []string, controller string) []string {
		mount := m.v1[controller]
		if mount == "" {
			return list
		}
		dir := filepath.Join(mount, m.parent, name)
		g.dir[controller] = dir
		// cpu and cpuacct are often one hierarchy, mounted in one place.
		if slices.Contains(g.all(), dir) {
			return list
		}
		return append(list, dir)
	}
	for _, c := range leafControllers() {
		g.leafDirs = add(g.leafDirs, c)
	}
	for _, c := range append(sharedControllers(), optional...) {
		g.sharedDirs = add(g.sharedDirs, c)
	}
	return g
}

func (g *groupV1) all() []string { return append(slices.Clone(g.leafDirs), g.sharedDirs...) }

// runs returns where in the directory the runs are. Init is in the directory itself, and they
// are below it where they have limits or leaves of their own.
func (g *groupV1) runs(dir string) string {
	switch dir {
	case g.dir["memory"], g.dir["cpu"], g.dir["pids"], g.dir["freezer"], g.dir["cpuacct"]:
		return filepath.Join(dir, "runs")
	}
	return dir
}

func (m *Manager) createV1(name string, limits Limits) (_ Group, err error) {
	var optional []string
	if limits.IOWeight != 0 {
		optional = append(optional, "blkio")
	}
	if limits.CPUs != "" {
		optional = append(optional, "cpuset")
	}
	g := m.groupV1(name, optional...)
	g.limits = limits
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err = errors.Join(err, g.Destroy(ctx))
		}
	}()
	if err := m.limitDevicesV1(g.dir["devices"]); err != nil {
		return nil, err
	}
	if err := m.allowDevicesV1(g.dir["devices"], limits.Devices); err != nil {
		return nil, err
	}
	if err := errors.Join(g.make(), m.boundParent()); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	if limits.IOWeight != 0 {
		if err := weigh(g.dir["blkio"], limits.IOWeight, "blkio.weight", "blkio.bfq.weight"); err != nil {
			return nil, err
		}
	}
	if limits.CPUs != "" {
		if err := m.pinV1(g, limits.CPUs); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// make makes the directories, of which that for devices is there.
func (g *groupV1) make() error {
	for _, dir := range g.all() {
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrNotExist) { // the first sandbox of all
			err = os.MkdirAll(dir, 0o755)
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if runs := g.runs(dir); runs != dir {
			if err := os.Mkdir(runs, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// Limit sets the limits. The requested limits hold for the runs; init, in the directory above, has its own share
// beyond them, which the runs cannot take. There is no directory for init alone: one in each hierarchy would cost some
// 200 KiB of kernel memory per sandbox.
func (g *groupV1) Limit(limits Limits) error {
	memory, runs := g.dir["memory"], g.runs(g.dir["memory"])
	threads := limits.PIDs + 1 // with the forking one of init, which lives among the runs
	had := g.inForce
	g.inForce = Limits{} // until all are set
	var errs []error
	if had.Memory != limits.Memory {
		errs = append(errs, limitMemoryV1(memory, limits.Memory+initMemory), limitMemoryV1(runs, limits.Memory))
	}
	if tcp := min(limits.Memory, maxTCP); min(had.Memory, maxTCP) != tcp {
		// The bound holds for init too, which makes sockets in the place of code.
		errs = append(errs, accountTCP(memory, tcp), accountTCP(runs, -1))
	}
	if had.CPU != limits.CPU || had.CPUWeight != limits.CPUWeight {
		// The quota holds for init too: the output it handles is the runs' doing.
		errs = append(errs, writeInt(g.dir["cpu"], "cpu.shares", shares(limits.weight())), writeInt(g.dir["cpu"], "cpu.cfs_quota_us", int64(limits.CPU*cpuPeriod)))
	}
	if had.PIDs != limits.PIDs {
		errs = append(errs, writeInt(g.dir["pids"], "pids.max", int64(threads+initPIDs)), writeInt(g.runs(g.dir["pids"]), "pids.max", int64(threads)))
	}
	err := errors.Join(errs...)
	if err == nil {
		g.inForce = limits
	}
	return err
}

// limitMemoryV1 bounds memory, and swap with it where the kernel accounts for swap.
func limitMemoryV1(dir string, bytes int64) error {
	const together = "memory.memsw.limit_in_bytes" // with swap, which memory must never exceed, in between too
	err := writeInt(dir, "memory.limit_in_bytes", bytes)
	if errors.Is(err, syscall.EINVAL) { // it would, and so is second
		return errors.Join(writeInt(dir, together, bytes), writeInt(dir, "memory.limit_in_bytes", bytes))
	}
	if err != nil {
		return err
	}
	err = writeInt(dir, together, bytes)
	if errors.Is(err, os.ErrNotExist) {
		return writeInt(dir, "memory.swappiness", 0)
	}
	return err
}

// checkHierarchyV1 returns an error if limits of the directory do not hold for those below it.
func checkHierarchyV1(dir string) error {
	if below, err := readInt(dir, "memory.use_hierarchy"); err == nil && below == 0 {
		// Linux before 5.11, unless a process such as systemd has set it.
		return yurt.Errorf(yurt.CodeLimitNotEnforceable, "memory limits do not hold for cgroups below %s; set memory.use_hierarchy to 1 at its root and start again", dir)
	}
	return nil
}

// maxTCP is the most bytes that the buffers of TCP and UDP may hold. The kernel counts them beside the memory of the cgroup, so that a sandbox
// could take as much again. With less, connections are slower.
const maxTCP = 4 << 20

// accountTCP bounds the TCP buffers of the cgroup's sockets. The kernel accounts for them apart, and only in a cgroup
// that has such a limit. -1 leaves the limits of the cgroups above.
func accountTCP(dir string, bytes int64) error {
	err := writeInt(dir, "memory.kmem.tcp.limit_in_bytes", bytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without
	}
	return err
}

// allowedDevices are the rules that allow null, zero, full, random, urandom, tty, ptmx
// and pseudo-terminals, as the kernel lists them.
const allowedDevices = "c 1:3 rw\nc 1:5 rw\nc 1:7 rw\nc 1:8 rw\nc 1:9 rw\nc 5:0 rw\nc 5:2 rw\nc 136:* rw\n"

// Settle sets the limits. Init was born in its place, and has not answered yet: they are set while it
// starts.
func (g *groupV1) Settle(int) error {
	return errors.Join(
		checkHierarchyV1(g.dir["memory"]),
		writeInt(g.dir["cpu"], "cpu.cfs_period_us", cpuPeriod),
		g.Limit(g.limits),
	)
}

func (g *groupV1) BirthFiles() ([]*os.File, error) { return openTasks(g.all()) }

func (g *groupV1) HomeFiles() ([]*os.File, error) {
	homes := g.all()
	for i, dir := range homes {
		homes[i] = g.runs(dir)
	}
	return openTasks(homes)
}

// openTasks opens the files through which a thread enters the directories. On v1 the credentials of the process that
// opened such a file count, not those of the writer.
func openTasks(dirs []string) ([]*os.File, error) {
	files := make([]*os.File, 0, len(dirs))
	for _, dir := range dirs {
		path := filepath.Join(dir, "tasks")
		fd, err := openControl(path, unix.O_WRONLY)
		if err != nil {
			closeAll(files)
			return nil, fmt.Errorf("opening a cgroup: %w", &os.PathError{Op: "open", Path: path, Err: err})
		}
		files = append(files, os.NewFile(uintptr(fd), path))
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Close implements [Group].
func (g *groupV1) Close() { g.spare.close() }

func (g *groupV1) Destroy(ctx context.Context) error {
	freezer := g.dir["freezer"]
	errs := []error{g.Thaw()} // init would wait for frozen processes
	// Init first: with it the kernel ends every process of its pid namespace. Versions before
	// this one had it in a directory of its own.
	errs = append(errs, killTree(ctx, filepath.Join(freezer, "init")), killV1(ctx, freezer), killTree(ctx, g.runs(freezer)))
	for _, dir := range g.all() {
		errs = append(errs, removeTree(ctx, dir))
	}
	return errors.Join(errs...)
}

// removePause is the wait before a busy cgroup is removed again: a killed process leaves its cgroup a moment after its end.
const removePause = 2 * time.Millisecond

// removeTree removes the directory and those below it, which hold no process. It looks
// again when the directory is not empty: a run may have ended, and the leaf of the next
// be made, while it was at it.
func removeTree(ctx context.Context, dir string) error {
	for {
		err := unix.Rmdir(dir) // most have no subdirectories
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		below, err := subdirs(dir)
		if err != nil {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
		for _, sub := range below {
			if err := removeTree(ctx, sub); err != nil {
				return err
			}
		}
		if err = unix.Rmdir(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("removing a cgroup: %w", err)
		case <-time.After(removePause):
		}
	}
}

// mostPatience is the longest that one round of killing waits for the processes to stop,
// and then for them to end.
const mostPatience = time.Second
