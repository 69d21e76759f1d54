package cgroup

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
)

// spareV2 is the leaf of a group on v2 that was made ahead and has no run yet. The kernel renames no directory there: the leaf keeps
// its name, which begins with [spareName] and is used once, and an attribute names its run, see [Place].
type spareV2 struct {
	mu   sync.Mutex
	ours bool    // this process has removed those that a process before it left
	leaf *leafV2 // nil if no leaf waits for its name
}

// Ahead implements [Leaves].
func (g *groupV2) Ahead() (Leaf, error) {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if g.spare.leaf != nil {
		return nil, errAhead()
	}
	if !g.spare.ours {
		left, err := g.nameless()
		if err != nil {
			return nil, err
		}
		for _, leaf := range left { // a run may have begun in it, which Reclaim names
			if err := leaf.Remove(); err != nil {
				return nil, err
			}
		}
		g.spare.ours = true
	}
	leaf, err := g.newLeaf(spareName + "-" + rand.Text())
	if err != nil {
		return nil, err
	}
	leaf.group = g
	g.spare.leaf = leaf
	return leaf, nil
}

// nameless lists the leaves that were made ahead and belong to no run.
func (g *groupV2) nameless() (list []*leafV2, err error) {
	dirs, err := subdirs(filepath.Join(g.dir, "runs"))
	if err != nil {
		return nil, fmt.Errorf("listing cgroups: %w", err)
	}
	for _, dir := range dirs {
		if strings.HasPrefix(ownerV2(dir), spareName+"-") {
			list = append(list, &leafV2{dir: dir})
		}
	}
	return list, nil
}

// Reclaim implements [Group].
func (g *groupV2) Reclaim(name string) error {
	g.spare.mu.Lock()
	defer g.spare.mu.Unlock()
	if g.spare.ours || isDir(g.find(name).dir) {
		return nil
	}
	left, err := g.nameless()
	if err != nil {
		return err
	}
	for _, leaf := range left {
		inside, err := pids(leaf.dir)
		if err := ifThere(err); err != nil {
			return err
		}
		if len(inside) > 0 {
			return leaf.Take(name)
		}
	}
	return nil
}

// NameAfter implements [Leaf].
func (l *leafV2) NameAfter(run string) error {
	if l.group == nil {
		return nil
	}
	if err := l.Take(run); err != nil {
		return err
	}
	l.leaveSpare()
	return nil
}

// leaveSpare says that the leaf waits for no name any more.
func (l *leafV2) leaveSpare() {
	if l.group == nil {
		return
	}
	l.group.spare.mu.Lock()
	defer l.group.spare.mu.Unlock()
	l.group.spare.leaf, l.group = nil, nil
}

// close forgets the leaf, of which the directory stays.
func (s *spareV2) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaf, s.ours = nil, false
}

// Prepare implements [Group]. On v2 a leaf is one directory, which the kernel does not rename: no work can be done without a name.
func (g *groupV2) Prepare() error { return nil }

// TakeLeaf implements [Group].
func (g *groupV2) TakeLeaf(name string) (Leaf, error) {
	leaf, err := g.newLeaf(name)
	if err != nil {
		return nil, err
	}
	return leaf, nil
}

// Name implements [Leaf].
func (l *leafV2) Name() error { return nil }
