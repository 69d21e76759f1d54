package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	return errors.Join(
		limitMemoryV1(memory, limits.Memory+initMemory),
		limitMemoryV1(runs, limits.Memory),
		// The bound holds for init too, which makes sockets in the place of code.
		accountTCP(memory, min(limits.Memory, maxTCP)),
		accountTCP(runs, -1),
		writeInt(g.dir["cpu"], "cpu.shares", shares(limits.weight())),
		// The quota holds for init too: the output it handles is the runs' doing.
		writeInt(g.dir["cpu"], "cpu.cfs_quota_us", int64(limits.CPU*cpuPeriod)),
		writeInt(g.dir["pids"], "pids.max", int64(threads+initPIDs)),
		writeInt(g.runs(g.dir["pids"]), "pids.max", int64(threads)),
	)
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

// allowedDevices are the rules that allow null, zero, full, random, urandom, tty, ptmx
// and pseudo-terminals, as the kernel lists them.
const allowedDevices = "c 1:3 rw\nc 1:5 rw\nc 1:7 rw\nc 1:8 rw\nc 1:9 rw\nc 5:0 rw\nc 5:2 rw\nc 136:* rw\n"

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

// make makes the directories.
func (l *leafV1) make() error {
	for i, dir := range l.dirs {
		err := os.Mkdir(dir, 0o755)
		if err != nil {
			made := &leafV1{dirs: l.dirs[:i]}
			return errors.Join(fmt.Errorf("making a cgroup: %w", err), made.Remove())
		}
	}
	if err := accountTCP(l.memory, -1); err != nil {
		return errors.Join(err, l.Remove())
	}
	return nil
}

func (g *groupV1) leaf(name string) *leafV1 {
	at := func(controller string) string { return filepath.Join(g.dir[controller], "runs", name) }
	leaf := &leafV1{memory: at("memory"), cpu: at("cpuacct"), freezer: at("freezer")}
	for _, dir := range g.leafDirs {
		leaf.dirs = append(leaf.dirs, filepath.Join(dir, "runs", name))
	}
	return leaf
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

// killTree kills everything in the freezer directory and below it.
func killTree(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("killing a cgroup: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := killTree(ctx, filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return killV1(ctx, dir)
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

// leafV1 is the cgroup of one run, a directory in each of leafControllers.
type leafV1 struct {
	dirs                 []string
	memory, cpu, freezer string

	tasks []*os.File // opened ahead; nil once they were handed out
	meter *Meter     // likewise

	nameless *nameless // nil once it has the name of its run
}

func (l *leafV1) Files() ([]*os.File, error) {
	if tasks := l.tasks; tasks != nil {
		l.tasks = nil
		return tasks, nil
	}
	return openTasks(l.dirs)
}

func (l *leafV1) Kill(ctx context.Context) error { return killV1(ctx, l.freezer) }

// mostPatience is the longest that one round of killing waits for the processes to stop,
// and then for them to end.
const mostPatience = time.Second

// killV1 kills every process of the freezer directory. They are frozen first, so
// that one which forks faster than it is killed has no time to. Each round is more patient
// than the one before: to stop, and to end, a process needs some time on a processor, and
// of those there may be many on a busy machine.
func killV1(ctx context.Context, freezer string) error {
	for patience := time.Millisecond; ; patience = min(2*patience, mostPatience) {
		list, err := residents(freezer)
		if err != nil || len(list) == 0 {
			return ifThere(err)
		}
		if err := killFrozen(ctx, freezer, patience-time.Millisecond); err != nil {
			return err
		}
		left, err := awaitEmpty(ctx, freezer, patience)
		if err != nil || left == 0 {
			return ifThere(err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("killing a cgroup: %d processes are still there: %w", left, ctx.Err())
		}
	}
}

// killFrozen sends SIGKILL to all while they are frozen; it takes effect on thawing. While
// one is not frozen yet, which is waited for until patience ends, it may be in the middle
// of a fork, and its child is missed.
func killFrozen(ctx context.Context, freezer string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := freezeV1(ctx, freezer); err != nil && ctx.Err() == nil {
		return err
	}
	list, err := residents(freezer)
	for _, pid := range list {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	if err := errors.Join(ifThere(err), ifThere(write(freezer, "freezer.state", "THAWED"))); err != nil {
		return fmt.Errorf("killing a cgroup: %w", err)
	}
	return nil
}

// awaitEmpty waits until the freezer directory has no processes, or patience or ctx ends, and returns how many are left.
func awaitEmpty(ctx context.Context, freezer string, patience time.Duration) (int, error) {
	deadline := time.Now().Add(patience)
	for {
		select {
		case <-ctx.Done():
		case <-time.After(freezePoll):
		}
		list, err := residents(freezer)
		if err != nil || len(list) == 0 || ctx.Err() != nil || time.Now().After(deadline) {
			return len(list), err
		}
	}
}

// residents lists the processes that belong in the directory. The kernel also lists
// those of which just one thread is there: the launcher and init, which send a thread
// through to start something, and which no kill may hit.
func residents(freezer string) ([]int, error) {
	list, err := pids(freezer)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(pid int) bool { return mainThreadElsewhere(pid, freezer) }), nil
}

// mainThreadElsewhere reports whether the process's main thread lives, and lives in
// another directory. Where a dead one was, the kernel does not say.
func mainThreadElsewhere(pid int, freezer string) bool {
	cgroups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || inFreezer(string(cgroups), freezer) {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}

// inFreezer reports whether the text of /proc/PID/cgroup says that the process is in
// the directory, whose path ends as the one in the text does.
func inFreezer(text, dir string) bool {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), "freezer") {
			return fields[2] != "/" && strings.HasSuffix(dir, fields[2])
		}
	}
	return true // unknown: better killed
}

// Meter implements [Leaf].
func (l *leafV1) Meter() (*Meter, error) {
	if meter := l.meter; meter != nil {
		l.meter = nil
		return meter, nil
	}
	return l.openMeter()
}

func (l *leafV1) openMeter() (*Meter, error) {
	return openMeter(meterFiles{
		meterCPU:    filepath.Join(l.cpu, "cpuacct.usage"),
		meterMemory: filepath.Join(l.memory, "memory.max_usage_in_bytes"),
		meterKills:  filepath.Join(l.memory, "memory.oom_control"),
	}, usageV1)
}

func (l *leafV1) Remove() error {
	l.Close()
	for _, dir := range l.dirs {
		err := unix.Rmdir(dir)
		switch {
		case err == nil || errors.Is(err, os.ErrNotExist):
		case errors.Is(err, syscall.EBUSY):
			return fmt.Errorf("%s: %w", strings.TrimSuffix(dir, "/"), ErrBusy)
		default:
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
	l.leaveSpare()
	return nil
}
