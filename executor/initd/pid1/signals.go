package pid1

import (
	"fmt"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Signals outlive an exec in two ways: those that are blocked stay blocked, those that are ignored stay ignored. User
// code must not inherit the settings of the process that started the executor.

// unblockSignals unblocks every signal of the calling thread.
func unblockSignals() error {
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil); err != nil {
		return fmt.Errorf("unblocking signals: %w", err)
	}
	return nil
}

// sigaction is struct sigaction of the kernel.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	ignoreSignal  = 1 // SIG_IGN; SIG_DFL is zero
	lastSignal    = 64
	sizeOfSignals = 8 // bytes of a mask
)

// endings are the signals that end a Go program unless it handles them. The kernel never applies their defaults to the
// first process of a namespace.
func endings() []syscall.Signal {
	return []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}
}

// standardSignals gives every ignored signal, and those that ask a program to end, its
// default. The Go runtime handles most of them, which an exec makes default; it leaves alone
// the rest, such as those that C libraries keep for themselves.
func standardSignals() error {
	for signal := uintptr(1); signal <= lastSignal; signal++ {
		var have, standard sigaction
		if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, signal, 0, uintptr(unsafe.Pointer(&have)), sizeOfSignals, 0, 0); errno != 0 {
			return fmt.Errorf("reading the action of signal %d: %w", signal, errno)
		}
		if have.handler != ignoreSignal && !slices.Contains(endings(), syscall.Signal(signal)) {
			continue
		}
		if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(&standard)), 0, sizeOfSignals, 0, 0); errno != 0 {
			return fmt.Errorf("giving signal %d its default: %w", signal, errno)
		}
	}
	return nil
}
