package pid1

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
)

// openTerminal opens a terminal in the sandbox's own /dev/pts. The child's end belongs to the user, so that the user
// may open it again by its name.
func openTerminal(uid, gid uint32, size initd.WindowSize) (master, child *os.File, err error) {
	if master, err = openAs(uid, gid, "/dev/ptmx"); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			master.Close()
		}
	}()
	if err := setSize(master, size); err != nil {
		return nil, nil, err
	}
	err = control(master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		// By the descriptor: a name could be another's, and its mode forbids it to us.
		peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			return errno
		}
		child = os.NewFile(peer, "terminal")
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	return master, child, nil
}

// openAs opens a file as another user; the kernel makes that user the owner of a new file.
func openAs(uid, gid uint32, name string) (file *os.File, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The effective ids stay, so it can be taken back.
	if err := errors.Join(unix.Setfsgid(int(gid)), unix.Setfsuid(int(uid))); err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, err)
	}
	file, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if back := errors.Join(unix.Setfsuid(os.Geteuid()), unix.Setfsgid(os.Getegid())); back != nil {
		panic(back) // this thread would go on as the wrong user
	}
	return file, err
}

// setSize sets a terminal's size; the kernel notifies the programs in it.
func setSize(master *os.File, size initd.WindowSize) error {
	err := control(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if err != nil {
		return fmt.Errorf("resizing a terminal: %w", err)
	}
	return nil
}

// control calls do with the file's descriptor, which stays in the care of the runtime.
func control(file *os.File, do func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}

// resize gives the process's terminal another size.
func (p *process) resize(size initd.WindowSize) error {
	if p.input == nil || !p.input.terminal {
		return refusal(initd.ReasonNoTerminal, fmt.Errorf("process %s has no terminal", p.id))
	}
	if err := setSize(p.input.file, size); err != nil {
		return refusal(initd.ReasonNoTerminal, err)
	}
	return nil
}
