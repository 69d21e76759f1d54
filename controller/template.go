package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/internal/suggest"
)

// Catalog has the templates and their warm pools.
type Catalog struct {
	store interface {
		contract.TemplateStore
		contract.PoolStore
	}
	placer  contract.Placer
	builtIn map[string]yurt.Template
}

// Templates lists the built-in templates and those that users made, by name.
func (c *Catalog) Templates(ctx context.Context) ([]yurt.Template, error) {
	list, err := c.store.Templates(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range c.builtIn {
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b yurt.Template) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Template returns the template of that name.
func (c *Catalog) Template(ctx context.Context, name string) (yurt.Template, error) {
	if t, ok := c.builtIn[name]; ok {
		return t, nil
	}
	t, err := c.store.Template(ctx, name)
	return t, c.withNearest(ctx, name, err)
}

// withNearest turns the error about a template that does not exist into the question for the name that the caller probably meant. The
// name is one of those that the caller can list: other tenants' names stay theirs.
func (c *Catalog) withNearest(ctx context.Context, name string, err error) error {
	if yurt.CodeOf(err) != yurt.CodeTemplateNotFound {
		return err
	}
	list, failed := c.Templates(ctx)
	if failed != nil {
		return failed
	}
	if near := suggest.Nearest(name, templateNames(list)); near != "" {
		return yurt.Errorf(yurt.CodeTemplateNotFound, "there is no template %.80q; did you mean %q? List the templates to see all", name, near)
	}
	return err
}

// CreateTemplate adds a template, as [Catalog.PushTemplates] does.
func (c *Catalog) CreateTemplate(ctx context.Context, t yurt.Template, tell func(string) error) (yurt.Template, error) {
	return t, c.PushTemplates(ctx, []yurt.Template{t}, false, tell)
}

// ReplaceTemplate gives a name another template, or its first, under a condition that holds until then. Sessions go on as they began;
// the warm pool is filled anew.
func (c *Catalog) ReplaceTemplate(ctx context.Context, name string, t yurt.Template, condition yurt.Condition, tell func(string) error) (yurt.Template, error) {
	if t.Name != name {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "name", "the template is called %.80q and the path says %.80q; give the same name in both", t.Name, name)
	}
	return t, c.put(ctx, []yurt.Template{t}, func(t yurt.Template, there *yurt.Template) error {
		if there == nil {
			return condition.Check("template "+t.Name, "")
		}
		return condition.Check("template "+t.Name, there.ETag())
	}, tell)
}

// PushTemplates adds templates, which package hcl has decoded and validated: all of them or not one. Templates whose
// name is taken are refused, or replaced. Templates with packages are added when a node has installed these; the
// output of the package managers is passed on.
func (c *Catalog) PushTemplates(ctx context.Context, templates []yurt.Template, replace bool, tell func(string) error) error {
	return c.put(ctx, templates, func(t yurt.Template, there *yurt.Template) error {
		if there == nil || replace {
			return nil
		}
		return yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s exists; choose another name, or replace it", t.Name)
	}, tell)
}

// put stores templates that a check allows: before packages are installed, and when they are.
func (c *Catalog) put(ctx context.Context, templates []yurt.Template, check contract.TemplateCheck, tell func(string) error) error {
	there, err := c.Templates(ctx)
	if err != nil {
		return err
	}
	runtimes, err := c.Runtimes(ctx)
	if err != nil {
		return err
	}
	names := templateNames(append(there, templates...))
	for i, t := range templates {
		if slices.ContainsFunc(templates[:i], func(other yurt.Template) bool { return other.Name == t.Name }) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "name", "template %s is given twice", t.Name)
		}
		if err := c.validateTemplate(t, names, runtimes); err != nil {
			return err
		}
		var old *yurt.Template
		if at := slices.Index(names[:len(there)], t.Name); at >= 0 {
			old = &there[at]
		}
		if err := check(t, old); err != nil {
			return err
		}
	}
	for _, t := range templates {
		if len(t.Dependencies) == 0 {
			continue
		}
		err := c.prepareTemplate(ctx, t, tell)
		var coded *yurt.Error
		if errors.As(err, &coded) {
			return yurt.FieldErrorf(coded.Code, coded.Field, "template %s: %s", t.Name, coded.Message)
		}
		if err != nil {
			return err
		}
	}
	return c.store.PutTemplates(ctx, templates, check)
}

// DeleteTemplate removes a template that a user made. Sessions go on as they began; its warm pool
// is emptied.
func (c *Catalog) DeleteTemplate(ctx context.Context, name string) error {
	if _, ok := c.builtIn[name]; ok {
		return yurt.Errorf(yurt.CodeForbidden, "template %s is built in and cannot be deleted", name)
	}
	return c.withNearest(ctx, name, c.store.DeleteTemplate(ctx, name))
}

func templateNames(list []yurt.Template) []string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names
}

// validateTemplate checks the names in a template: its own, the template that it was made from, and the runtimes and kernels of the
// nodes.
func (c *Catalog) validateTemplate(t yurt.Template, names []string, runtimes []yurt.RuntimeInfo) error {
	if err := validateTemplateName(t.Name); err != nil {
		return err
	}
	if _, ok := c.builtIn[t.Name]; ok {
		return yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s is built in and cannot be replaced; choose another name", t.Name)
	}
	if t.Extends != "" && !slices.Contains(names, t.Extends) {
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "extends", "template %s extends %.80q, which does not exist%s", t.Name, t.Extends, suggest.Question(t.Extends, names))
	}
	if len(runtimes) == 0 {
		return nil // without a node there is no list to compare with
	}
	known := make([]string, len(runtimes))
	for i, r := range runtimes {
		known[i] = r.Name
	}
	for _, name := range t.Runtimes {
		if !slices.Contains(known, name) {
			return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "runtimes", "template %s has the runtime %.80q, and no node has it%s; the nodes have %s",
				t.Name, name, suggest.Question(name, known), strings.Join(slices.Compact(known), ", "))
		}
	}
	return validateKernels(t, runtimes)
}

// validateKernels checks that there are the kernels that the template chooses, of runtimes that
// some node has.
func validateKernels(t yurt.Template, runtimes []yurt.RuntimeInfo) error {
	for _, language := range slices.Sorted(maps.Keys(t.Kernels)) {
		var (
			fault   error
			kernels []string
		)
		for _, r := range runtimes { // of several versions, one that has it is enough
			if r.Name != language {
				continue
			}
			kernels = append(kernels, r.Kernels...)
			if fault = r.ValidateKernel("kernels."+language, t.Kernels[language]); fault == nil {
				break
			}
		}
		var coded *yurt.Error
		if errors.As(fault, &coded) {
			return yurt.FieldErrorf(yurt.CodeTemplateInvalid, coded.Field, "%s%s", coded.Message, suggest.Question(t.Kernels[language], kernels))
		}
	}
	return nil
}

// prepareTemplate has a node install the packages of the template: the first that can.
func (c *Catalog) prepareTemplate(ctx context.Context, t yurt.Template, tell func(string) error) error {
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return err
	}
	err = yurt.Errorf(yurt.CodeUnavailable, "there is no node that could install the template's packages; try again when there is one")
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node, ok := nodes[name].(contract.TemplateNode)
		if !ok {
			continue
		}
		err = node.PrepareTemplate(ctx, t, tell)
		switch yurt.CodeOf(err) {
		case yurt.CodeUnavailable, yurt.CodeOverloaded, yurt.CodeLanguageNotSupported, yurt.CodeNotSupported: // another may be able to
		default:
			return err
		}
	}
	return err
}

// validateTemplateName allows names that are safe in a path, a URL and a log line.
func validateTemplateName(name string) error {
	if err := yurt.ValidateName("name", name); err != nil {
		return err
	}
	if strings.ContainsFunc(name, notNameRune) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "name", "a template's name is made of letters, digits, \"-\", \"_\" and \".\"")
	}
	return nil
}

func notNameRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

// Runtimes lists the language runtimes of all nodes, each once, by name.
func (c *Catalog) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var list []yurt.RuntimeInfo
	for _, node := range nodes {
		runtimes, err := node.Runtimes(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range runtimes {
			if !slices.ContainsFunc(list, func(have yurt.RuntimeInfo) bool { return have.Name == r.Name && have.Version == r.Version }) {
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b yurt.RuntimeInfo) int {
		return strings.Compare(a.Name+"\x00"+a.Version, b.Name+"\x00"+b.Version)
	})
	return list, nil
}
