// Package tally counts what was asked of a node and what became of it, by template: who
// decides how many sandboxes are kept ready, and where, goes by that. It remembers the
// templates that were asked for last, and no more than a few dozen.
package tally

import (
	"slices"
	"sync"

	"github.com/yurtrun/yurt"
)

// most is how many templates are remembered.
const most = 64

// Outcome is what became of a request for a sandbox.
type Outcome int

// What can become of one.
const (
	Claimed Outcome = iota // it got one that was ready
	Cold                   // it got one that was made for it
	Refused                // there was none
)

// Tally counts what became of requests, by template. Its methods may be called concurrently.
type Tally struct {
	mu    sync.Mutex
	of    map[string]*counts // by digest
	order []string           // of use, the last one last
}

type counts struct {
	template string
	cached   bool     // a sandbox of it was made
	of       [3]int64 // by outcome
}

// New returns a tally that nothing was asked of.
func New() *Tally { return &Tally{of: make(map[string]*counts)} }

// Add counts what became of a request for a sandbox of the template with the digest.
func (t *Tally) Add(digest, template string, what Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touch(digest, template).of[what]++
}

// Made notes that a sandbox was made, and whether for who could have had a warm one.
func (t *Tally) Made(digest, template string, cold bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	used := t.touch(digest, template)
	used.cached = true
	if cold {
		used.of[Cold]++
	}
}

// touch returns the counts of a template, which is used now. The lock is held.
func (t *Tally) touch(digest, template string) *counts {
	if i := slices.Index(t.order, digest); i >= 0 {
		t.order = slices.Delete(t.order, i, i+1)
	}
	t.order = append(t.order, digest)
	if len(t.order) > most {
		delete(t.of, t.order[0])
		t.order = slices.Delete(t.order, 0, 1)
	}
	if t.of[digest] == nil {
		t.of[digest] = &counts{template: template}
	}
	return t.of[digest]
}

// List returns what is remembered, by digest.
func (t *Tally) List() map[string]yurt.TemplateCapacity {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make(map[string]yurt.TemplateCapacity, len(t.of))
	for digest, used := range t.of {
		list[digest] = yurt.TemplateCapacity{
			Template: used.template, Cached: used.cached,
			Claims: used.of[Claimed], Cold: used.of[Cold], Refused: used.of[Refused],
		}
	}
	return list
}
