package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// maxPreparing bounds how many nodes install the packages of a template at once, since all of them
// ask the same registries.
const maxPreparing = 8

// preparation installs the packages of a template on several nodes at once.
type preparation struct {
	template yurt.Template
	tell     func(string) error

	mu       sync.Mutex // serialises tell and guards the fields below
	prepared []string
	failures []error
	lacking  error // of a node that cannot have the template
}

// PrepareTemplate has each node that can run the template pull its image and install its packages, and returns the names of
// these nodes. It passes the output on meanwhile; of several nodes, it tells when each is ready. A node that fails does not stop
// the others; the error names it.
func (c *Catalog) PrepareTemplate(ctx context.Context, name string, tell func(string) error) ([]string, error) {
	template, err := c.Template(ctx, name)
	if err != nil {
		return nil, err
	}
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	p := &preparation{
		template: template, tell: tell,
		lacking: yurt.Errorf(yurt.CodeUnavailable, "there is no node that could install the template's packages; try again when there is one"),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPreparing)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if node, ok := nodes[name].(contract.TemplateNode); ok {
			group.Go(func() error { return p.prepare(ctx, name, node, len(nodes) > 1) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(p.prepared)
	switch {
	case len(p.failures) > 0:
		return p.prepared, p.failed()
	case len(p.prepared) == 0:
		return nil, p.lacking
	default:
		return p.prepared, nil
	}
}

// prepare returns an error only where the caller is gone.
func (p *preparation) prepare(ctx context.Context, name string, node contract.TemplateNode, several bool) error {
	err := node.PrepareTemplate(ctx, p.template, func(text string) error {
		if several {
			return ctx.Err()
		}
		return p.tell(text)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	state := "ready"
	switch code := yurt.CodeOf(err); {
	case err == nil:
		p.prepared = append(p.prepared, name)
	case code == yurt.CodeLanguageNotSupported, code == yurt.CodeNotSupported:
		p.lacking, state = err, "cannot run the template"
	default:
		p.failures, state = append(p.failures, fmt.Errorf("node %s: %w", name, err)), "failed"
	}
	if !several {
		return nil
	}
	return p.tell(fmt.Sprintf("node %s: %s\n", name, state))
}

// failed is the error of the first node that failed, with the names of those that are ready.
func (p *preparation) failed() error {
	first := p.failures[0]
	ready := "no node is ready"
	if len(p.prepared) > 0 {
		ready = "ready are " + strings.Join(p.prepared, ", ")
	}
	var coded *yurt.Error
	if !errors.As(first, &coded) {
		return fmt.Errorf("%w (%s)", first, ready)
	}
	return yurt.FieldErrorf(coded.Code, coded.Field, "%w (%s)", first, ready)
}
