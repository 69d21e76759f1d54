package controller

import (
	"context"

	"github.com/yurtrun/yurt"
)

// PooledTemplates lists every template, by name, with the size that its warm pool is to
// have now.
func (c *Catalog) PooledTemplates(ctx context.Context) ([]yurt.Template, error) {
	list, err := c.Templates(ctx)
	if err != nil {
		return nil, err
	}
	sizes, err := c.store.PoolSizes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		resizePool(&list[i], sizes)
	}
	return list, nil
}

// PooledTemplate returns a template with the size that its warm pool is to have now.
func (c *Catalog) PooledTemplate(ctx context.Context, name string) (yurt.Template, error) {
	template, err := c.Template(ctx, name)
	if err != nil {
		return yurt.Template{}, err
	}
	sizes, err := c.store.PoolSizes(ctx)
	if err != nil {
		return yurt.Template{}, err
	}
	resizePool(&template, sizes)
	return template, nil
}

func resizePool(t *yurt.Template, sizes map[string]yurt.PoolSize) {
	size, given := sizes[t.Name]
	switch {
	case !given:
	case size.Max == 0:
		t.WarmPool = yurt.WarmPool{}
	default:
		t.WarmPool.Min, t.WarmPool.Max = size.Min, size.Max
		t.WarmPool = t.WarmPool.Or()
	}
}

// Pools lists the warm pools of the templates that have one, by template.
func (c *Catalog) Pools(ctx context.Context) ([]yurt.Pool, error) {
	templates, err := c.PooledTemplates(ctx)
	if err != nil {
		return nil, err
	}
	var pooled []yurt.Template
	for _, t := range templates {
		if t.WarmPool.Max > 0 {
			pooled = append(pooled, t)
		}
	}
	return c.poolsOf(ctx, pooled)
}

// SetPool gives the warm pool of a template another size, which lasts. It gets there within a second or so. An empty change
// leaves the pool to its present rule.
func (c *Catalog) SetPool(ctx context.Context, template string, change yurt.PoolChange) (yurt.Pool, error) {
	t, err := c.PooledTemplate(ctx, template)
	if err != nil {
		return yurt.Pool{}, err
	}
	if change == (yurt.PoolChange{}) {
		return c.poolOf(ctx, t)
	}
	size, err := change.Of(yurt.PoolSize{Min: t.WarmPool.Min, Max: t.WarmPool.Max})
	if err != nil {
		return yurt.Pool{}, err
	}
	if err := c.store.SetPoolSize(ctx, template, size); err != nil {
		return yurt.Pool{}, err
	}
	resizePool(&t, map[string]yurt.PoolSize{template: size})
	return c.poolOf(ctx, t)
}

// UnsetPool has the warm pool of a template sized by the template again.
func (c *Catalog) UnsetPool(ctx context.Context, template string) (yurt.Pool, error) {
	t, err := c.Template(ctx, template)
	if err != nil {
		return yurt.Pool{}, err
	}
	if err := c.store.UnsetPoolSize(ctx, template); err != nil {
		return yurt.Pool{}, err
	}
	return c.poolOf(ctx, t)
}

// Pool returns the warm pool of a template; a template without one has the size 0.
func (c *Catalog) Pool(ctx context.Context, template string) (yurt.Pool, error) {
	t, err := c.PooledTemplate(ctx, template)
	if err != nil {
		return yurt.Pool{}, err
	}
	return c.poolOf(ctx, t)
}

func (c *Catalog) poolOf(ctx context.Context, t yurt.Template) (yurt.Pool, error) {
	list, err := c.poolsOf(ctx, []yurt.Template{t})
	if err != nil {
		return yurt.Pool{}, err
	}
	return list[0], nil
}

func (c *Catalog) poolsOf(ctx context.Context, templates []yurt.Template) ([]yurt.Pool, error) {
	return c.placer.Pools(ctx, templates)
}
