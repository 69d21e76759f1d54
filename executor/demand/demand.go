// Package demand counts the requests for sandboxes of a node, and their outcomes, by template. Controllers decide
// from these counts how many sandboxes are kept ready, and where. The package remembers the 64 templates
// that were requested last.
package demand

import (
	"slices"
	"sync"

	"github.com/yurtrun/yurt"
)

// maxTemplates bounds how many templates are remembered.
const maxTemplates = 64

// Outcome is the end of a request for a sandbox.
type Outcome int

// The outcomes of a request.
const (
	Claimed Outcome = iota // it got a sandbox that was ready
	Cold                   // it got a sandbox that was made for it
	Refused                // there was no sandbox
)

// Counters counts outcomes by template. Its methods may be called concurrently.
type Counters struct {
	mu    sync.Mutex
	of    map[string]*counts // by digest
	order []string           // digests, the one that was used last at the end
}

type counts struct {
	template string
	cached   bool     // a sandbox of it was made
	of       [3]int64 // by outcome
}

// NewCounters returns counters without templates.
func NewCounters() *Counters { return &Counters{of: make(map[string]*counts)} }

// Add counts the outcome of a request for a sandbox of the template with the digest.
func (c *Counters) Add(digest, template string, outcome Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touch(digest, template).of[outcome]++
}

// Made notes that a sandbox was made, and counts a cold start if it was made for a request that a warm sandbox
// could have served.
func (c *Counters) Made(digest, template string, cold bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := c.touch(digest, template)
	used.cached = true
	if cold {
		used.of[Cold]++
	}
}

// touch returns the counts of a template, and marks it as the one used last. The caller holds the lock.
func (c *Counters) touch(digest, template string) *counts {
	if i := slices.Index(c.order, digest); i >= 0 {
		c.order = slices.Delete(c.order, i, i+1)
	}
	c.order = append(c.order, digest)
	if len(c.order) > maxTemplates {
		delete(c.of, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
	if c.of[digest] == nil {
		c.of[digest] = &counts{template: template}
	}
	return c.of[digest]
}

// List returns the counts of the templates that are remembered, by digest.
func (c *Counters) List() map[string]yurt.TemplateCapacity {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make(map[string]yurt.TemplateCapacity, len(c.of))
	for digest, used := range c.of {
		list[digest] = yurt.TemplateCapacity{
			Template: used.template, Cached: used.cached,
			Claims: used.of[Claimed], Cold: used.of[Cold], Refused: used.of[Refused],
		}
	}
	return list
}
