package pid1

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/procview"
)

// mounts lists the mounts that init makes in its namespace before anything else. No other process runs there yet, so a
// path cannot be a trap.
type mounts struct {
	list     []mount
	readonly []string // of /proc: to be read and never written
	masked   []string // of /proc: to be neither
	empty    string   // an empty directory, which masks others
	last     bool     // init gives up the right to mount afterwards
	view     view     // of /proc

	processes *os.File // of a /proc for init alone, see openProcesses
}

// view says which files of /proc are replaced by the sandbox's own, and all others masked that it is not known to need.
type view struct {
	dir    string // where the files are for the moment; "" if the launcher has replaced them
	memory int64  // that they show
	shared string // the directory of the files that are the same in all sandboxes
}

func (m *mounts) flags(flags *flag.FlagSet) {
	flags.Func("mount", "TYPE TARGET FLAGS DATA of a file system, as mount(2) takes them; may be repeated", func(text string) error {
		fs, err := parseMount(text)
		m.list = append(m.list, fs)
		return err
	})
	paths := func(list *[]string) func(string) error {
		return func(path string) error {
			*list = append(*list, path)
			return nil
		}
	}
	flags.Func("readonly", "path to make read-only; may be repeated", paths(&m.readonly))
	flags.Func("mask", "path to mask; may be repeated", paths(&m.masked))
	flags.StringVar(&m.empty, "empty", "", "empty directory, which masks others")
	flags.StringVar(&m.view.dir, "view", "", "directory for the files that replace those of /proc")
	flags.Int64Var(&m.view.memory, "view-memory", 0, "memory that these files show, in bytes")
	flags.StringVar(&m.view.shared, "view-shared", "", "directory of the files that replace those of /proc in all sandboxes")
	flags.BoolVar(&m.last, "no-more-mounts", false, "give up the capability to mount")
}

// parseMount reads a file system as "TYPE TARGET FLAGS DATA".
func parseMount(text string) (mount, error) {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) != 4 {
		return mount{}, fmt.Errorf("%q is not TYPE TARGET FLAGS DATA", text)
	}
	flags, err := strconv.ParseUint(fields[2], 10, 32)
	if err != nil {
		return mount{}, fmt.Errorf("flags of a mount: %w", err)
	}
	return mount{source: fields[0], target: fields[1], kind: fields[0], flags: uintptr(flags), data: fields[3]}, nil
}

// make mounts everything, and gives up the capability to do so if that was all. It returns the files in the place of those of
// /proc; nil if no mount changes.
func (m *mounts) make() (*procview.View, error) {
	for _, fs := range m.list {
		if err := unix.Mount(fs.source, fs.target, fs.kind, fs.flags, fs.data); err != nil {
			return nil, fmt.Errorf("mounting at %s: %w", fs.target, err)
		}
	}
	var err error
	if m.processes, err = openProcesses(); err != nil {
		return nil, err
	}
	for _, path := range m.readonly {
		if err := makeReadonly(path); err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, fmt.Errorf("making %s read-only: %w", path, err)
		}
	}
	own, err := m.replace()
	if err != nil {
		return nil, err
	}
	if err := m.mask(); err != nil {
		return nil, err
	}
	if m.last {
		return own, giveUp(unix.CAP_SYS_ADMIN)
	}
	return own, nil
}

// openProcesses opens a /proc that is mounted nowhere. All processes are in it: the sandbox's own /proc hides those from init whose program
// may not be read. It has to be made before parts of that are masked, since the kernel refuses one to a sandbox whose /proc is covered in part.
func openProcesses() (*os.File, error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.EPERM) {
		return os.Open("/proc") // the launcher has mounted all
	}
	if err != nil {
		return nil, fmt.Errorf("making a /proc of init's own: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("making a /proc of init's own: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a /proc of init's own: %w", err)
	}
	return os.NewFile(uintptr(fd), "processes"), nil
}

// replace mounts the files of the view, and adds to those masked all of /proc that is not known.
func (m *mounts) replace() (*procview.View, error) {
	if m.view.dir == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("masking: %w", err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("masking: %w", err)
	}
	for _, path := range procview.Hide(names) {
		if !slices.Contains(m.masked, path) {
			m.masked = append(m.masked, path)
		}
	}
	if err := procview.MountShared(m.view.shared); err != nil {
		return nil, err
	}
	return procview.Mount(m.view.dir, m.view.memory)
}

// makeReadonly binds the file or directory at path over itself, read-only.
func makeReadonly(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// mask covers files by the null device, and directories by the one that is empty.
func (m *mounts) mask() error {
	for _, path := range m.masked {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("masking: %w", err)
		}
		cover := os.DevNull
		if info.IsDir() {
			cover = m.empty
		}
		if err := unix.Mount(cover, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("masking %s: %w", path, err)
		}
	}
	return nil
}

// giveUp takes a capability from every thread of this process for good, so that no child ever has it again.
func giveUp(capability uintptr) error {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability, 0); errno != 0 {
		return fmt.Errorf("dropping capability %d: %w", capability, errno)
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(header, &sets[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	word, bit := capability/32, uint32(1)<<(capability%32)
	sets[word].Effective &^= bit
	sets[word].Permitted &^= bit
	sets[word].Inheritable &^= bit
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&sets[0])), 0); errno != 0 {
		return fmt.Errorf("giving up capability %d: %w", capability, errno)
	}
	return nil
}
