package pid1

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// commandPID is the number of a layer's command in its own namespace, whose first process is
// its keeper and whose second it is.
const commandPID = 2

// own makes the calling process, which is to be the command of a layer, the owner of the file.
// Init has the same open file and reads from it which process that is, see [signalKept]. Its
// /proc shows no process of a layer.
func own(file *os.File) step {
	return call(unix.SYS_FCNTL, file.Fd(), unix.F_SETOWN, commandPID)
}

// signalKept sends a signal to the command of a layer, which owns the file. The process that init
// has forked is its keeper, the first process of a namespace, to which the kernel drops most
// signals.
func signalKept(owned *os.File, signal syscall.Signal) error {
	pid, err := owner(owned)
	if err != nil {
		return err
	}
	command, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("opening process %d: %w", pid, err)
	}
	defer unix.Close(command)
	// The number can have become another process's before it was opened.
	if _, err := owner(owned); err != nil {
		return err
	}
	return unix.PidfdSendSignal(command, signal, nil, 0)
}

// owner returns the number of the process that owns the file, as long as there is one.
func owner(owned *os.File) (int, error) {
	pid, err := unix.FcntlInt(owned.Fd(), unix.F_GETOWN, 0)
	if err != nil {
		return 0, fmt.Errorf("looking for the command: %w", err)
	}
	if pid == 0 {
		return 0, syscall.ESRCH
	}
	return pid, nil
}
