package templatecmd

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/hcl"
)

func newTemplateValidateCommand(a *app) *cobra.Command {
	var variables cli.VariableFlags
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check template files, and show their errors",
		Long: `Check template files without a server. The files belong together: they share variables and
locals, and a template in one may extend a template in another. A directory stands for its
.hcl files.

An error is shown with file, line, column and source line, and the exit code is 1. With --json
the errors go to standard output.`,
		Example: "  yurt template validate templates/\n  yurt template validate base.hcl mine.hcl --var version=3.12\n  yurt template validate mine.hcl --var-file production.hcl",
		Args:    arguments.Between(1, -1, "one FILE or more"),
		RunE: func(_ *cobra.Command, args []string) error {
			parser, err := variables.Parser(a.App)
			if err != nil {
				return err
			}
			return a.validateTemplates(parser, args)
		},
	}
	variables.Add(cmd)
	return cmd
}

// validation is the output of yurt template validate --json.
type validation struct {
	Valid       bool             `json:"valid"`
	Templates   []string         `json:"templates"`
	Diagnostics []hcl.Diagnostic `json:"diagnostics"`
	Omitted     int              `json:"omitted,omitempty"`
}

func (a *app) validateTemplates(parser *hcl.Parser, files []string) error {
	templates, err := parser.ParseFiles(files...)
	v := validation{Valid: err == nil, Templates: []string{}, Diagnostics: []hcl.Diagnostic{}}
	var wrong *hcl.Error
	if errors.As(err, &wrong) && a.JSON {
		v.Diagnostics, v.Omitted = wrong.Diagnostics, wrong.Omitted
		return errors.Join(a.PrintJSON(v), cli.ExitError(yurt.CodeOf(wrong).ExitCode()))
	}
	if err != nil {
		return err
	}
	for _, t := range templates {
		v.Templates = append(v.Templates, t.Name)
	}
	if a.JSON {
		return a.PrintJSON(v)
	}
	a.Printf("%s valid: %s\n", screen.Count(len(v.Templates), "template is", "templates are"), strings.Join(v.Templates, ", "))
	return nil
}
