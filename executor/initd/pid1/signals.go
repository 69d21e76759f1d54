package pid1

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Signals outlive an exec in two ways: those that are blocked stay blocked, those
// that are ignored stay ignored. User code must not inherit what whoever started the
// executor did to its own.

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

// unignoreSignals gives every ignored signal its default. The Go runtime handles most
// of them, which an exec makes default; it leaves alone the rest, such as those that
// C libraries keep for themselves.
func unignoreSignals() error {
	for signal := uintptr(1); signal <= lastSignal; signal++ {
		var have, standard sigaction
		if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, signal, 0, uintptr(unsafe.Pointer(&have)), sizeOfSignals, 0, 0); errno != 0 {
			return fmt.Errorf("reading the action of signal %d: %w", signal, errno)
		}
		if have.handler != ignoreSignal {
			continue
		}
		if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(&standard)), 0, sizeOfSignals, 0, 0); errno != 0 {
			return fmt.Errorf("no longer ignoring signal %d: %w", signal, errno)
		}
	}
	return nil
}
