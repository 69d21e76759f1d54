package broker

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/pidfd"
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
	file, err := pidfd.Open(process.PID)
	if err != nil {
		return noProcess(sandboxID, process)
	}
	defer file.Close()
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
	if err := file.Signal(syscall.Signal(signal)); err != nil {
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
	file, err := pidfd.Open(init.PID)
	if err != nil {
		return errors.Join(gone(sandboxID), err)
	}
	defer file.Close()
	if !init.Alive() {
		return gone(sandboxID)
	}
	return file.Kill()
}
