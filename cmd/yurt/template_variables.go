package main

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/hcl"
)

// variableFlags are values for the variables of template files.
type variableFlags struct{ values, files []string }

func (f *variableFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.values, "var", nil, "a value for a variable of the template files: NAME=VALUE; may be repeated")
	cmd.Flags().StringArrayVar(&f.files, "var-file", nil, "a file of values for variables: NAME = VALUE in HCL, or a JSON object in a .json file; may be repeated: a later file wins over an earlier one, and --var over all files")
}

// given reports whether there is a value.
func (f *variableFlags) given() bool { return len(f.values)+len(f.files) > 0 }

// parser returns a parser of template files that has the values.
func (f *variableFlags) parser(a *app) (*hcl.Parser, error) {
	values, err := parsePairs("--var", f.values)
	if err != nil {
		return nil, err
	}
	parser := &hcl.Parser{Variables: values}
	for _, name := range f.files {
		text, err := a.readInput(name, hcl.MaxSourceBytes)
		if err != nil {
			return nil, err
		}
		parser.VariableFiles = append(parser.VariableFiles, hcl.Source{Name: name, Text: text})
	}
	return parser, nil
}
