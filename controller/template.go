package controller

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
)

// Templates lists the built-in templates and those that users made, by name.
func (c *Controller) Templates(ctx context.Context) ([]yurt.Template, error) {
	list, err := c.store.Templates(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range c.templates {
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b yurt.Template) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Template returns the template of that name.
func (c *Controller) Template(ctx context.Context, name string) (yurt.Template, error) {
	if t, ok := c.templates[name]; ok {
		return t, nil
	}
	return c.store.Template(ctx, name)
}

// TemplateNode is a [Node] that installs packages of templates ahead.
type TemplateNode interface {
	// PrepareTemplate installs the packages of the template, and tells what is printed
	// meanwhile.
	PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error
}

// CreateTemplate adds a template, which package hcl has decoded and validated. One with
// packages is added when a node has installed them; what their package managers print is
// told.
func (c *Controller) CreateTemplate(ctx context.Context, t yurt.Template, tell func(string) error) (yurt.Template, error) {
	if err := validateTemplateName(t.Name); err != nil {
		return yurt.Template{}, err
	}
	if _, ok := c.templates[t.Name]; ok {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s is built in; choose another name", t.Name)
	}
	if err := c.validateKernels(ctx, t); err != nil {
		return yurt.Template{}, err
	}
	if len(t.Dependencies) > 0 {
		if _, err := c.store.Template(ctx, t.Name); err == nil {
			return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s exists; choose another name", t.Name)
		}
		if err := c.prepareTemplate(ctx, t, tell); err != nil {
			return yurt.Template{}, err
		}
	}
	return t, c.store.CreateTemplate(ctx, t)
}

// validateKernels checks that there are the kernels that the template chooses, of runtimes that
// some node has.
func (c *Controller) validateKernels(ctx context.Context, t yurt.Template) error {
	if len(t.Kernels) == 0 {
		return nil
	}
	runtimes, err := c.Runtimes(ctx)
	if err != nil {
		return err
	}
	for _, language := range slices.Sorted(maps.Keys(t.Kernels)) {
		var fault error
		for _, r := range runtimes { // of several versions, one that has it is enough
			if r.Name != language {
				continue
			}
			if fault = r.ValidateKernel("kernels."+language, t.Kernels[language]); fault == nil {
				break
			}
		}
		if fault != nil {
			return fault
		}
	}
	return nil
}

// prepareTemplate has a node install the packages of the template: the first that can.
func (c *Controller) prepareTemplate(ctx context.Context, t yurt.Template, tell func(string) error) error {
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return err
	}
	err = yurt.Errorf(yurt.CodeUnavailable, "there is no node that could install the template's packages; try again when there is one")
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node, ok := nodes[name].(TemplateNode)
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

// validateTemplateName allows what is safe in a path, a URL and a log line.
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
func (c *Controller) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
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
