package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
)

func newTemplatePushCommand(a *app) *cobra.Command {
	var variables variableFlags
	cmd := &cobra.Command{
		Use:   "push FILE...",
		Short: "Give the templates of files to a server",
		Long: `Give the templates of files to a server, which keeps them. The files are checked here first,
as yurt template validate does; templates that they extend are asked from the server.

A template with dependencies is there when a node has installed them. What the package
managers print goes to standard error.`,
		Example: "  yurt template push data.hcl\n  yurt template push base.hcl mine.hcl --var version=3.12",
		Args:    arguments(1, -1, "one FILE or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			parser, err := variables.parser(a)
			if err != nil {
				return err
			}
			return a.pushTemplates(cmd.Context(), parser, args)
		},
	}
	variables.add(cmd)
	return cmd
}

func (a *app) pushTemplates(ctx context.Context, parser *hcl.Parser, files []string) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	parser.Resolve = func(name string) (yurt.Template, error) { return client.Template(ctx, name) }
	templates, err := parser.ParseFiles(files...)
	if err != nil {
		return err
	}
	made := make([]yurt.Template, 0, len(templates))
	for _, t := range templates {
		pushed, err := client.CreateTemplateStream(ctx, hcl.Encode(t), func(text string) error {
			_, err := fmt.Fprint(a.stderr, text)
			return err
		})
		if err != nil {
			return fmt.Errorf("template %s: %w", t.Name, err)
		}
		made = append(made, pushed)
		if !a.json {
			a.printf("%s\n", pushed.Name)
		}
	}
	if a.json {
		return a.printJSON(made)
	}
	return nil
}
