package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

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

// AwaitEnds implements [Leaf].
func (l *leafV1) AwaitEnds(ctx context.Context) bool { return awaitEnds(ctx, l.dirs[0]) }

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
