package cgroup

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// spareName is that of the leaf that is made ahead, where no run has it for its own.
const spareName = "spare"

// spare is a leaf that was made ahead, which no run has had.
type spare struct {
	mu    sync.Mutex
	ours  bool    // this process has made the directories of that name
	leaf  *leafV1 // open; nil if no leaf is ready
	taken bool    // by a run, whose name it has not got yet
}

// close closes the leaf that was made ahead, of which the directories stay.
func (s *spare) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaf != nil {
		s.leaf.Close()
		s.leaf = nil
	}
	s.ours = false
}

// Prepare implements [Group].
func (g *groupV1) Prepare() error {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if g.spare.leaf != nil || g.spare.taken {
		return nil
	}
	leaf := g.leaf(spareName)
	if !g.spare.ours { // an executor before this one may have left one, which may have been used
		if err := leaf.Remove(); err != nil {
			return err
		}
		g.spare.ours = true
	}
	if err := leaf.make(); err != nil {
		return err
	}
	if err := leaf.open(); err != nil {
		return errors.Join(err, leaf.Remove())
	}
	g.spare.leaf = leaf
	return nil
}

// TakeLeaf implements [Group].
func (g *groupV1) TakeLeaf(name string) (Leaf, error) {
	if leaf := g.takeSpare(name); leaf != nil {
		return leaf, nil
	}
	leaf := g.leaf(name)
	if err := leaf.make(); err != nil {
		return nil, err
	}
	return leaf, nil
}

// Ahead implements [Leaves].
func (g *groupV1) Ahead() (Leaf, error) {
	if err := g.Prepare(); err != nil {
		return nil, err
	}
	if leaf := g.takeSpare(""); leaf != nil {
		return leaf, nil
	}
	return nil, errAhead()
}

// errAhead is the error of a group with a leaf that has no name yet.
func errAhead() error {
	return fmt.Errorf("making a cgroup ahead: the last one has no name yet: %w", ErrBusy)
}

// takeSpare takes the leaf that was made ahead for the run of that name. It returns nil if no leaf is ready.
func (g *groupV1) takeSpare(name string) *leafV1 {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	leaf := g.spare.leaf
	if leaf == nil {
		return nil
	}
	leaf.nameless = &nameless{group: g, name: name}
	g.spare.leaf, g.spare.taken = nil, true
	return leaf
}

// nameless is the state of a leaf that belongs to a run and is still called spare.
type nameless struct {
	group *groupV1
	name  string
}

// Name implements [Leaf].
func (l *leafV1) Name() error {
	if l.nameless == nil {
		return nil
	}
	for i, named := range l.nameless.group.leaf(l.nameless.name).dirs {
		// No process uses the new name yet, so the check of os.Rename is not needed.
		if err := unix.Rename(l.dirs[i], named); err != nil {
			return fmt.Errorf("naming a cgroup: %w", err)
		}
		for _, path := range []*string{&l.memory, &l.cpu, &l.freezer} {
			if *path == l.dirs[i] {
				*path = named
			}
		}
		l.dirs[i] = named
	}
	l.leaveSpare()
	return nil
}

// NameAfter implements [Leaf].
func (l *leafV1) NameAfter(run string) error {
	if l.nameless != nil {
		l.nameless.name = run
	}
	return l.Name()
}

// leaveSpare says that the leaf is not called spare any more.
func (l *leafV1) leaveSpare() {
	if l.nameless == nil {
		return
	}
	spare := &l.nameless.group.spare
	spare.mu.Lock()
	defer spare.mu.Unlock()
	spare.taken, l.nameless = false, nil
}

// Reclaim implements [Group].
func (g *groupV1) Reclaim(name string) error {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if g.spare.ours {
		return nil // no executor before this one left it
	}
	spare := g.leaf(spareName)
	for i, dir := range g.leaf(name).dirs {
		if _, err := os.Lstat(dir); err == nil {
			continue
		}
		if err := unix.Rename(spare.dirs[i], dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("naming a cgroup: %w", err)
		}
	}
	return nil
}

// open opens the files of the leaf that a run needs, so that the run does not wait for it.
func (l *leafV1) open() (err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.tasks, err = openTasks(l.dirs); err != nil {
		return err
	}
	l.meter, err = l.openMeter()
	return err
}

// Close implements [Leaf].
func (l *leafV1) Close() {
	closeAll(l.tasks)
	l.meter.Close()
	l.tasks, l.meter = nil, nil
}
