package controller

import (
	"context"
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

// CreateTemplate adds a template, which package hcl has decoded and validated.
func (c *Controller) CreateTemplate(ctx context.Context, t yurt.Template) (yurt.Template, error) {
	if err := validateTemplateName(t.Name); err != nil {
		return yurt.Template{}, err
	}
	if _, ok := c.templates[t.Name]; ok {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s is built in; choose another name", t.Name)
	}
	return t, c.store.CreateTemplate(ctx, t)
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
