package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Program is the cgroup of one helper program of the node's: a bound on its memory, swap included, and on its processes.
// Its methods may be called concurrently.
type Program struct {
	dirs   []string // one a hierarchy; the last one has the controller of processes
	memory string   // of dirs, the one with the controller of memory
	v2     bool
}

// NewProgram makes the cgroup of a program, of at most so many bytes and processes. A name that is taken is [os.ErrExist].
func (m *Manager) NewProgram(name string, memory int64, processes int) (_ *Program, err error) {
	p := m.Program(name)
	var made []string
	defer func() {
		if err != nil {
			for _, dir := range made {
				os.Remove(dir)
			}
		}
	}()
	for _, dir := range p.dirs {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return nil, fmt.Errorf("making a cgroup: %w", err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making a cgroup: %w", err)
		}
		made = append(made, dir)
	}
	if p.v2 {
		if err := errors.Join(enable(m.v2), enable(filepath.Dir(p.memory)), m.denyHugePages(filepath.Dir(p.memory))); err != nil {
			return nil, err
		}
	}
	limit := limitMemoryV1
	if p.v2 {
		limit = limitMemoryV2
	}
	if err := errors.Join(limit(p.memory, memory), writeInt(p.dirs[len(p.dirs)-1], "pids.max", int64(processes))); err != nil {
		return nil, fmt.Errorf("limiting a program: %w", err)
	}
	return p, nil
}

// Program returns the cgroup of a program that was made earlier.
func (m *Manager) Program(name string) *Program {
	if m.Version() == 2 {
		dir := filepath.Join(m.v2, m.parent, name)
		return &Program{dirs: []string{dir}, memory: dir, v2: true}
	}
	p := &Program{memory: filepath.Join(m.v1["memory"], m.parent, name)}
	p.dirs = slices.Compact([]string{p.memory, filepath.Join(m.v1["pids"], m.parent, name)})
	return p
}

// Enter has the processes that the calling thread starts be born here, which needs cgroup v1. The thread itself is here until it ends.
func (p *Program) Enter() error {
	if p.v2 {
		return nil
	}
	for _, dir := range p.dirs {
		if err := write(dir, "tasks", "0"); err != nil {
			return fmt.Errorf("entering the cgroup of a program: %w", err)
		}
	}
	return nil
}

// Add moves a process here that was not born here, after [Program.Enter]: on v2 all threads of a process are in one cgroup. The process has not run
// an instruction of its own yet, so that all its memory counts. The kernel makes the move wait for a lock of all processes.
func (p *Program) Add(pid int) error {
	if !p.v2 {
		return p.holds(pid)
	}
	for _, dir := range p.dirs {
		if err := write(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("moving a program to its cgroup: %w", err)
		}
	}
	return nil
}

func (p *Program) holds(pid int) error {
	for _, dir := range p.dirs {
		inside, err := pids(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(inside, pid) {
			return fmt.Errorf("the program %d was not born in %s", pid, dir)
		}
	}
	return nil
}

// Killed says how many of its processes the kernel ended because they had no memory left here.
func (p *Program) Killed() (int64, error) {
	if p.v2 {
		return readField(p.memory, "memory.events", "oom_kill")
	}
	return readField(p.memory, "memory.oom_control", "oom_kill")
}

// Remove ends every process inside and removes the cgroup.
func (p *Program) Remove(ctx context.Context) error {
	for {
		err := p.tryRemove()
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("removing the cgroup of a program: %w", err)
		case <-time.After(time.Millisecond): // a killed process leaves its cgroup a moment after it is gone
		}
	}
}

func (p *Program) tryRemove() error {
	for _, dir := range p.dirs {
		inside, err := pids(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, pid := range inside {
			if pid == os.Getpid() { // a thread that has entered, and ends
				continue
			}
			if pid == 0 { // which kill(2) takes for all processes of the caller's group
				return fmt.Errorf("a process in %s is in another namespace of processes", dir)
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("ending process %d: %w", pid, err)
			}
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
