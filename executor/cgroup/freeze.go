package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Freezer stops all runs of a sandbox for a while. Init goes on, so that the sandbox
// still answers.
type Freezer interface {
	// Freeze returns once no process of any run gets CPU time. No run may be started
	// before Thaw. When it fails or ctx ends, some may be frozen.
	Freeze(ctx context.Context) error
	// Thaw lets all runs go on. It has no effect on runs that are not frozen.
	Thaw() error
}

// freezePoll is how long to wait before asking again whether all have stopped.
const freezePoll = time.Millisecond

// Freeze stops the leaves one by one, and not the directory that holds them: init's forking thread is in there, and if
// it stopped, init's runtime might wait for it for ever.
func (g *groupV1) Freeze(ctx context.Context) error {
	leaves, err := subdirs(filepath.Join(g.dir["freezer"], "runs"))
	if err != nil {
		return err
	}
	for _, leaf := range leaves {
		if err := freezeV1(ctx, leaf); err != nil {
			return err
		}
	}
	return nil
}

// freezeV1 asks again and again: the kernel misses a process that is being born or in an uninterruptible call, and
// then never completes the freeze. Thawing all for a moment helps, also where processes are born without end.
func freezeV1(ctx context.Context, leaf string) error {
	tries := 0
	return awaitFrozen(ctx, func() (bool, error) {
		if tries++; tries%thawEvery == 0 {
			if err := write(leaf, "freezer.state", "THAWED"); err != nil {
				return true, ifThere(err)
			}
			time.Sleep(freezePoll)
		}
		if err := write(leaf, "freezer.state", "FROZEN"); err != nil {
			return true, ifThere(err)
		}
		state, err := os.ReadFile(filepath.Join(leaf, "freezer.state"))
		if err != nil {
			return true, ifThere(err)
		}
		return strings.TrimSpace(string(state)) == "FROZEN", nil
	})
}

// thawEvery is how many tries come before all may go on for a moment.
const thawEvery = 20

func (g *groupV1) Thaw() error {
	leaves, err := subdirs(filepath.Join(g.dir["freezer"], "runs"))
	if err != nil {
		return err
	}
	var errs []error
	for _, leaf := range leaves {
		errs = append(errs, ifThere(write(leaf, "freezer.state", "THAWED")))
	}
	return errors.Join(errs...)
}

func (g *groupV2) Freeze(ctx context.Context) error {
	runs := filepath.Join(g.dir, "runs")
	if err := write(runs, "cgroup.freeze", "1"); err != nil {
		return err
	}
	return awaitFrozen(ctx, func() (bool, error) {
		frozen, err := readField(runs, "cgroup.events", "frozen")
		return frozen == 1, err
	})
}

func (g *groupV2) Thaw() error {
	return ifThere(write(filepath.Join(g.dir, "runs"), "cgroup.freeze", "0"))
}

func awaitFrozen(ctx context.Context, frozen func() (bool, error)) error {
	for {
		done, err := frozen()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("freezing a cgroup: %w", ctx.Err())
		case <-time.After(freezePoll):
		}
	}
}

// subdirs lists the directories in dir. The list is empty if dir does not exist.
func subdirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, ifThere(err)
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}

// ifThere is about a cgroup that may be removed at any time: that it is not there is
// no error.
func ifThere(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking after a cgroup: %w", err)
	}
	return nil
}
