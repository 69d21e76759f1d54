package broker

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// Signal implements [Broker]. The process cannot change in between: it is open before the broker looks for it.
func (l *Local) Signal(sandboxID string, process procid.ID, signal yurt.Signal) error {
	if signal < 1 || signal > yurt.MaxSignal {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "signal", "%d is no signal; give a number from 1 to %d", signal, yurt.MaxSignal)
	}
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	if process.PID <= 0 {
		return noProcess(sandboxID, process)
	}
	fd, err := unix.PidfdOpen(process.PID, 0)
	if err != nil {
		return noProcess(sandboxID, process)
	}
	defer unix.Close(fd)
	runs, err := s.group.Processes()
	if err != nil {
		return fmt.Errorf("listing the processes of sandbox %s: %w", sandboxID, err)
	}
	inside := false
	for _, pids := range runs {
		inside = inside || slices.Contains(pids, process.PID)
	}
	if !inside || !process.Alive() {
		return noProcess(sandboxID, process)
	}
	if err := unix.PidfdSendSignal(fd, syscall.Signal(signal), nil, 0); err != nil {
		return noProcess(sandboxID, process)
	}
	return nil
}

func noProcess(sandboxID string, process procid.ID) error {
	return yurt.Errorf(yurt.CodeProcessNotFound, "no run of sandbox %s has the process %d", sandboxID, process.PID)
}

// KillInit implements [Broker].
func (l *Local) KillInit(sandboxID string) error {
	init, err := l.initOf(sandboxID)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(init.PID, 0)
	if err != nil {
		return errors.Join(gone(sandboxID), err)
	}
	defer unix.Close(fd)
	if !init.Alive() {
		return gone(sandboxID)
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}
