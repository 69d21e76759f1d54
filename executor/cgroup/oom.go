package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/inotify"
)

// Alarm goes off when memory has run out in a group, or in one above it: the kernel is about to end a process then, or has done so. The
// counts of [Gauge] say whether it was one of a leaf's.
type Alarm interface {
	// Wait returns once the alarm has gone off since the last call, or ctx is done, with the error of ctx.
	Wait(ctx context.Context) error
	// File is the file that tells of it, to be passed on. It is nil on version 2, where every process may watch a group.
	File() *os.File
	Close()
}

// alarmV1 is an eventfd to which the kernel adds 1 each time that memory runs out.
type alarmV1 struct{ file *os.File }

// MemoryAlarm implements [Group].
func (g *groupV1) MemoryAlarm() (Alarm, error) {
	dir := filepath.Join(g.dir["memory"], "runs")
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching the memory of a sandbox: %w", err)
	}
	alarm := &alarmV1{os.NewFile(uintptr(fd), "eventfd")}
	of, err := openControl(filepath.Join(dir, "memory.oom_control"), unix.O_RDONLY)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watching the memory of a sandbox: %w", err), alarm.file.Close())
	}
	defer unix.Close(of)
	if err := write(dir, "cgroup.event_control", fmt.Sprintf("%d %d", fd, of)); err != nil {
		return nil, errors.Join(err, alarm.file.Close())
	}
	return alarm, nil
}

// Wait implements [Alarm].
func (a *alarmV1) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { a.file.SetReadDeadline(time.Now()) })()
	var count [8]byte
	if _, err := a.file.Read(count[:]); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// File implements [Alarm].
func (a *alarmV1) File() *os.File { return a.file }

// Close implements [Alarm].
func (a *alarmV1) Close() { a.file.Close() }

// alarmV2 is a watch of memory.events, which the kernel says is modified when a count in it is.
type alarmV2 struct{ *inotify.Subscription }

// MemoryAlarm implements [Group].
func (g *groupV2) MemoryAlarm() (Alarm, error) {
	subscription, err := g.watches.Subscribe()
	if err != nil {
		return nil, fmt.Errorf("watching the memory of a sandbox: %w", err)
	}
	if _, err := subscription.Add(filepath.Join(g.dir, "runs", "memory.events"), unix.IN_MODIFY); err != nil {
		subscription.Close()
		return nil, fmt.Errorf("watching the memory of a sandbox: %w", err)
	}
	return alarmV2{subscription}, nil
}

// Wait implements [Alarm].
func (a alarmV2) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a.Wake():
		a.Take()
		return nil
	}
}

// File implements [Alarm].
func (alarmV2) File() *os.File { return nil }
