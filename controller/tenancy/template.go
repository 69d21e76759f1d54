package tenancy

import (
	"context"
	"maps"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// stored returns a template as the store has it: its name, and that of the template that it extends, with the tenant.
func stored(tenant string, t yurt.Template) yurt.Template {
	t.Name = qualified(tenant, t.Name)
	if t.Extends != "" {
		t.Extends = qualified(tenant, t.Extends)
	}
	return t
}

// shown returns a template as its tenant has it; ok is false for one of another tenant.
func shown(tenant string, t yurt.Template) (_ yurt.Template, ok bool) {
	prefix := qualified(tenant, "")
	name, ok := strings.CutPrefix(t.Name, prefix)
	if !ok || strings.Contains(name, separator) {
		return yurt.Template{}, false
	}
	t.Name, t.Extends = name, strings.TrimPrefix(t.Extends, prefix)
	return t, true
}

// PutTemplates implements contract.TemplateStore.
func (d *divided) PutTemplates(ctx context.Context, templates []yurt.Template, check contract.TemplateCheck) error {
	if err := free(ctx); err != nil {
		return err
	}
	tenant, _, err := reach(ctx)
	if err != nil {
		return err
	}
	list := make([]yurt.Template, len(templates))
	for i, t := range templates {
		if strings.Contains(t.Name, separator) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "name", "a template's name has no slash")
		}
		list[i] = stored(tenant, t)
	}
	if check == nil {
		return d.all.PutTemplates(ctx, list, nil)
	}
	return d.all.PutTemplates(ctx, list, func(t yurt.Template, there *yurt.Template) error {
		t, _ = shown(tenant, t)
		if there != nil {
			own, _ := shown(tenant, *there)
			there = &own
		}
		return check(t, there)
	})
}

// DeleteTemplate implements contract.TemplateStore.
func (d *divided) DeleteTemplate(ctx context.Context, name string) error {
	if err := free(ctx); err != nil {
		return err
	}
	tenant, _, err := reach(ctx)
	if err != nil {
		return err
	}
	if strings.Contains(name, separator) {
		return record.TemplateNotFound(name)
	}
	return plainNames(tenant, d.all.DeleteTemplate(ctx, qualified(tenant, name)))
}

// plainNames takes the tenant out of an error of the store.
func plainNames(tenant string, err error) error {
	coded, is := err.(*yurt.Error) //nolint:errorlint // the store's own errors name templates, and no others
	if !is || tenant == access.DefaultTenant {
		return err
	}
	plain := *coded
	plain.Message = strings.ReplaceAll(coded.Message, qualified(tenant, ""), "")
	return &plain
}

// Template implements contract.TemplateStore.
func (d *divided) Template(ctx context.Context, name string) (yurt.Template, error) {
	tenant, _, err := reach(ctx)
	if err != nil {
		return yurt.Template{}, err
	}
	if strings.Contains(name, separator) {
		return yurt.Template{}, record.TemplateNotFound(name)
	}
	t, err := d.all.Template(ctx, qualified(tenant, name))
	if err != nil {
		return yurt.Template{}, plainNames(tenant, err)
	}
	t, ok := shown(tenant, t)
	if !ok {
		return yurt.Template{}, record.TemplateNotFound(name)
	}
	return t, nil
}

// Templates implements contract.TemplateStore. The server itself has those of the operator: only they have warm pools.
func (d *divided) Templates(ctx context.Context) ([]yurt.Template, error) {
	tenant, _, err := reach(ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.all.Templates(ctx)
	var list []yurt.Template
	for _, t := range all {
		if own, ok := shown(tenant, t); ok {
			list = append(list, own)
		}
	}
	return list, err
}

// SetPoolSize implements contract.PoolStore.
func (d *divided) SetPoolSize(ctx context.Context, template string, size yurt.PoolSize) error {
	if err := operates(ctx); err != nil {
		return err
	}
	return d.all.SetPoolSize(ctx, template, size)
}

// UnsetPoolSize implements contract.PoolStore.
func (d *divided) UnsetPoolSize(ctx context.Context, template string) error {
	if err := operates(ctx); err != nil {
		return err
	}
	return d.all.UnsetPoolSize(ctx, template)
}

// PoolSizes implements contract.PoolStore. Sessions of all tenants claim sandboxes from the pools of built-in templates, so that each
// create has to know their sizes. No tenant but the operator's has the scope to see them.
func (d *divided) PoolSizes(ctx context.Context) (map[string]yurt.PoolSize, error) {
	if _, _, err := reach(ctx); err != nil {
		return nil, err
	}
	sizes, err := d.all.PoolSizes(ctx)
	return maps.Clone(sizes), err
}

// operates refuses callers of other tenants than the operator's: warm pools are the operator's.
func operates(ctx context.Context) error {
	tenant, _, err := reach(ctx)
	if err == nil {
		err = free(ctx)
	}
	if err == nil && tenant != access.DefaultTenant {
		err = yurt.Errorf(yurt.CodeForbidden, "warm pools are the operator's")
	}
	return err
}
