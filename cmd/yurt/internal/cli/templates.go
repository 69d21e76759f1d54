package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/internal/suggest"
)

// VariableFlags are values for the variables of template files.
type VariableFlags struct{ values, files []string }

// Add adds the flags to a command.
func (f *VariableFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.values, "var", nil, "a value for a variable of the template files: NAME=VALUE; may be repeated")
	cmd.Flags().StringArrayVar(&f.files, "var-file", nil, "a file of values for variables: NAME = VALUE in HCL, or a JSON object in a .json file; may be repeated: a later file wins over an earlier one, and --var over all files")
}

// Given reports whether there is a value.
func (f *VariableFlags) Given() bool { return len(f.values)+len(f.files) > 0 }

// Parser returns a parser of template files that has the values.
func (f *VariableFlags) Parser(a *App) (*hcl.Parser, error) {
	values, err := ParsePairs("--var", f.values)
	if err != nil {
		return nil, err
	}
	parser := &hcl.Parser{Variables: values}
	for _, name := range f.files {
		text, err := a.ReadInput(name, hcl.MaxSourceBytes)
		if err != nil {
			return nil, err
		}
		parser.VariableFiles = append(parser.VariableFiles, hcl.Source{Name: name, Text: text})
	}
	return parser, nil
}

// FindTemplate returns the template that name means: a built-in one, one of an HCL
// file, or for "" the default one, which has to have the runtime.
func FindTemplate(name, runtime string, parser *hcl.Parser) (yurt.Template, error) {
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
		"there is no template %q; built in are %s, and an .hcl file can define another%s", name, strings.Join(names, ", "), suggest.Question(name, names))
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
