package templatecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/hcl"
)

func newTemplatePushCommand(a *app) *cobra.Command {
	var (
		variables cli.VariableFlags
		replace   bool
	)
	cmd := &cobra.Command{
		Use:   "push FILE...",
		Short: "Push the templates of files to a server",
		Long: `Push the templates of files to a server, which stores them. This command checks the files first,
as yurt template validate does, and asks the server for templates that they extend. The server
stores all of the templates, or no template where it refuses one.

A template whose name is taken is refused; --replace replaces the older one. Running sessions
keep the older template, and warm pools are filled anew.

The push of a template with dependencies waits until a node has installed them. The output of
the package managers goes to standard error.`,
		Example: "  yurt template push data.hcl\n  yurt template push base.hcl mine.hcl --var version=3.12\n  yurt template push data.hcl --replace",
		Args:    arguments.Between(1, -1, "one FILE or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			parser, err := variables.Parser(a.App)
			if err != nil {
				return err
			}
			return a.pushTemplates(cmd.Context(), parser, args, replace)
		},
	}
	variables.Add(cmd)
	cmd.Flags().BoolVar(&replace, "replace", false, "replace templates of the same names on the server")
	return cmd
}

func (a *app) pushTemplates(ctx context.Context, parser *hcl.Parser, files []string, replace bool) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	parser.Resolve = func(name string) (yurt.Template, error) { return client.Template(ctx, name) }
	parser.Names = func() (names []string) {
		list, _ := client.Templates(ctx) // without them the suggestion is only poorer
		for _, t := range list {
			names = append(names, t.Name)
		}
		return names
	}
	templates, err := parser.ParseFiles(files...)
	if err != nil {
		return err
	}
	wait := a.Wait("waiting for the server to make " + screen.Count(len(templates), "template", "templates"))
	err = client.PushTemplates(ctx, templates, replace, func(text string) error {
		_, err := wait.Write(a.Stderr, []byte(text))
		return err
	})
	wait.End()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(templates)
	}
	for _, t := range templates {
		a.Printf("%s\n", t.Name)
	}
	return nil
}
