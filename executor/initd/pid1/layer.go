package pid1

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// layer holds the setup of a process with namespaces of its own. The first process in them is not the command, which
// would be spared most signals there and would not know that it has to reap, but a keeper that does both. The keeper
// waits, reports how the command ended, and exits; the kernel then ends all remaining processes of the namespace.
type layer struct {
	steps   []step  // of the keeper, before the command's birth
	clone   step    // the command's birth
	guard   []step  // of the keeper, after it
	report  uintptr // where the keeper writes how the command ended
	confine []step  // of the command
}

// ownFiles is a file system in memory that each process with a layer gets for itself.
type ownFiles struct{ path, options string }

// coversOfProc returns the mounts over parts of init's /proc, each by its path below /proc.
func coversOfProc() (covers []string, err error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	defer mounts.Close()
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		// The path is the fifth field, and these paths contain no blank.
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && strings.HasPrefix(fields[4], "/proc/") {
			covers = append(covers, strings.TrimPrefix(fields[4], "/proc"))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	return covers, nil
}

// addLayer gives the child namespaces of its own, and pipes by which it tells how it fared.
// Such a child has a copy of our memory, since its keeper goes on.
func (s *setting) addLayer(b *birth, c *child, cgroup *os.File) (err error) {
	var fate, report *os.File
	if c.fate, fate, err = pipeAbove(); err != nil {
		return err
	}
	b.owned, b.fate = append(b.owned, fate), fate.Fd()
	if c.report, report, err = pipeAbove(); err != nil {
		return err
	}
	b.owned = append(b.owned, report)
	b.clone = b.cloneInto(unix.CLONE_NEWPID|unix.CLONE_NEWNS|unix.CLONE_NEWIPC, cgroup)
	b.layer = &layer{clone: clonePlain(0), report: report.Fd()}
	b.add(own(c.report)) // before other files take its number
	if err := s.fillLayer(b); err != nil {
		return err
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	none := &[2]unix.CapUserData{}
	b.layer.guard = append(closeOthers(0, report.Fd()), call(unix.SYS_CAPSET, pointer(b, header), pointer(b, none)))
	return nil
}

// fillLayer adds the mounts, and then landlock's rules, which refer to the mounted files.
func (s *setting) fillLayer(b *birth) (err error) {
	if b.layer.steps, err = s.mounts(b); err != nil || s.landlock == nil {
		return err
	}
	rules, restrict, err := s.landlock.steps(b)
	b.layer.steps = append(b.layer.steps, rules...)
	b.layer.confine = []step{restrict}
	return err
}

// mounts are those of a process with a layer: its own file systems, and a /proc of its
// own namespace, in which the same is covered as in init's. It is put together where
// init's is not in the way, and then moved over it.
func (s *setting) mounts(b *birth) ([]step, error) {
	const workplace = "/tmp"
	list := []mount{
		{target: "/", flags: unix.MS_REC | unix.MS_PRIVATE},
		{"proc", workplace, "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "hidepid=2"},
	}
	for _, path := range s.covers {
		list = append(list, mount{source: "/proc" + path, target: workplace + path, flags: unix.MS_BIND})
	}
	list = append(list, mount{source: workplace, target: "/proc", flags: unix.MS_MOVE})
	for _, own := range s.ownFiles {
		flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
		options, noexec := strings.CutPrefix(own.options, "noexec,")
		if noexec {
			flags |= unix.MS_NOEXEC
		}
		list = append(list, mount{"own", own.path, "tmpfs", flags, options})
	}
	steps := make([]step, len(list))
	for i, m := range list {
		var err error
		if steps[i], err = m.step(b); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// mount holds the arguments of mount(2); an empty string becomes a null pointer.
type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func (m mount) step(b *birth) (step, error) {
	var texts [4]uintptr
	for i, text := range []string{m.source, m.target, m.kind, m.data} {
		if text == "" {
			continue
		}
		var err error
		if texts[i], err = b.text(text); err != nil {
			return step{}, err
		}
	}
	return call(unix.SYS_MOUNT, texts[0], texts[1], texts[2], m.flags, texts[3]), nil
}

// enterLayer makes the process the keeper of a layer, and returns in its child.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (b *birth) enterLayer() {
	b.perform(b.layer.steps)
	pid, errno := rawClone(b.layer.clone.call, b.layer.clone.args[0], b.layer.clone.args[1])
	if errno != 0 {
		b.fail(b.layer.clone.call, syscall.Errno(errno))
	}
	if pid != 0 {
		b.keep(pid)
	}
}

// keep is the rest of the keeper's life.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (b *birth) keep(command uintptr) {
	var status uint32
	b.perform(b.layer.guard)
	for {
		ended, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&status)), 0, 0, 0, 0)
		if ended == command {
			_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, b.layer.report, uintptr(unsafe.Pointer(&status)), unsafe.Sizeof(status))
			break
		}
		if errno != 0 && errno != syscall.EINTR {
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
