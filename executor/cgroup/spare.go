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

// spare is a leaf that was made ahead, which no run has had. What an executor before
// this one made has had none either: a leaf that is used has the name of its run.
type spare struct {
	mu   sync.Mutex
	leaf *leafV1 // open; nil while there is none
}

// close closes the leaf that was made ahead, of which the directories stay.
func (s *spare) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaf != nil {
		s.leaf.Close()
		s.leaf = nil
	}
}

// Prepare implements [Group].
func (g *groupV1) Prepare() error {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if g.spare.leaf != nil {
		return nil
	}
	leaf := g.leaf(spareName)
	if err := leaf.make(); err != nil {
		return err
	}
	if err := leaf.open(); err != nil {
		return errors.Join(err, leaf.Remove())
	}
	g.spare.leaf = leaf
	return nil
}

// takeSpare gives the leaf that was made ahead the name, and returns nil if there is none.
func (g *groupV1) takeSpare(name string) (*leafV1, error) {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	spare, leaf := g.spare.leaf, g.leaf(name)
	if spare == nil {
		return nil, nil
	}
	g.spare.leaf = nil
	for i, dir := range leaf.dirs {
		// Without the look beforehand that os.Rename takes: nothing has that name yet.
		if err := unix.Rename(spare.dirs[i], dir); err != nil {
			named := &leafV1{dirs: leaf.dirs[:i]}
			return nil, errors.Join(fmt.Errorf("making a cgroup: %w", err), named.Remove(), spare.Remove())
		}
	}
	leaf.tasks, leaf.gauges = spare.tasks, spare.gauges // they are of the directories, whatever those are called
	return leaf, nil
}

// open opens what a run needs of the leaf, lest it be waited for.
func (l *leafV1) open() (err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.tasks, err = openTasks(l.dirs); err != nil {
		return err
	}
	for i, path := range l.gaugePaths() {
		fd, err := openControl(path, unix.O_RDONLY)
		if err != nil {
			return fmt.Errorf("opening a cgroup: %w", &os.PathError{Op: "open", Path: path, Err: err})
		}
		l.gauges[i] = os.NewFile(uintptr(fd), path)
	}
	return nil
}

// Close implements [Leaf].
func (l *leafV1) Close() {
	closeAll(l.tasks)
	l.tasks = nil
	for i, file := range l.gauges {
		if file != nil {
			file.Close()
			l.gauges[i] = nil
		}
	}
}

// Prepare implements [Group]: here one directory is all there is to make, and the
// kernel renames none.
func (g *groupV2) Prepare() error { return nil }
