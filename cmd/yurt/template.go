package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
)

func newTemplateCommand(a *app) *cobra.Command {
	cmd := parent("template", "Check template files, push them to a server, and list its templates", groupServer,
		newTemplateValidateCommand(a),
		newTemplateListCommand(a),
		newTemplateShowCommand(a),
		newTemplatePushCommand(a),
		newTemplatePrepareCommand(a),
		newTemplateRmCommand(a),
	)
	a.addServerFlag(cmd)
	return cmd
}

// localFlag is how list and show are told to ask no server.
func localFlag(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "local", false, "list the templates built into this binary, without a server")
}

func (a *app) templates(ctx context.Context, local bool) ([]yurt.Template, error) {
	if local {
		return hcl.Defaults()
	}
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	return client.Templates(ctx)
}

// findTemplate returns the template that name means: a built-in one, one of an HCL
// file, or for "" the default one, which has to have the runtime.
func findTemplate(name, runtime string, parser *hcl.Parser) (yurt.Template, error) {
	if strings.HasSuffix(name, ".hcl") {
		return templateOfFile(name, parser)
	}
	builtin, err := hcl.Defaults()
	if err != nil {
		return yurt.Template{}, err
	}
	var names []string
	for _, t := range builtin {
		names = append(names, t.Name)
		if t.Name == name || name == "" && t.Name == yurt.DefaultTemplate && slices.Contains(t.Runtimes, runtime) {
			return t, nil
		}
	}
	if name == "" {
		return yurt.Template{}, yurt.Errorf(yurt.CodeTemplateNotFound, "the template %s has no runtime %s; give --template with an .hcl file that has it", yurt.DefaultTemplate, runtime)
	}
	return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateNotFound, "--template",
		"there is no template %q; built in are %s, and an .hcl file can define another", name, strings.Join(names, ", "))
}

func templateOfFile(name string, parser *hcl.Parser) (yurt.Template, error) {
	templates, err := parser.ParseFiles(name)
	if err != nil {
		return yurt.Template{}, err
	}
	if len(templates) != 1 {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateInvalid, "--template", "%s defines %d templates; give a file that defines one", name, len(templates))
	}
	return templates[0], nil
}
