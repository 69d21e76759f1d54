package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// spareName is that of the leaf that is made ahead, where no run has it for its own.
const spareName = "spare"

// spare says whether a leaf was made ahead that no run has had. What an executor before
// this one made has had none either: a leaf that is used has the name of its run.
type spare struct {
	mu   sync.Mutex
	made bool
}

// Prepare implements [Group].
func (g *groupV1) Prepare() error {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if g.spare.made {
		return nil
	}
	leaf := g.leaf(spareName)
	if err := leaf.make(); err != nil {
		return err
	}
	g.spare.made = true
	return nil
}

// takeSpare makes the leaf that was made ahead the given one. It reports whether there
// was one.
func (g *groupV1) takeSpare(leaf *leafV1) (bool, error) {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if !g.spare.made {
		return false, nil
	}
	g.spare.made = false
	for i, dir := range leaf.dirs {
		// Without the look beforehand that os.Rename takes: nothing has that name yet.
		if err := unix.Rename(filepath.Join(filepath.Dir(dir), spareName), dir); err != nil {
			named, rest := &leafV1{dirs: leaf.dirs[:i]}, g.leaf(spareName)
			return false, errors.Join(fmt.Errorf("making a cgroup: %w", err), named.Remove(), rest.Remove())
		}
	}
	return true, nil
}

// Prepare implements [Group]: here one directory is all there is to make, and the
// kernel renames none.
func (g *groupV2) Prepare() error { return nil }
