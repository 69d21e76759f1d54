package hcl

import (
	"embed"
	"fmt"
	"path"

	"github.com/yurtrun/yurt"
)

//go:embed defaults/*.hcl
var defaultFiles embed.FS

// Defaults returns the templates that ship with Yurt, by name. An error is a fault
// of the build.
func Defaults() ([]yurt.Template, error) {
	entries, err := defaultFiles.ReadDir("defaults")
	if err != nil {
		return nil, fmt.Errorf("listing the default templates: %w", err)
	}
	sources := make([]Source, 0, len(entries))
	for _, entry := range entries {
		name := path.Join("defaults", entry.Name())
		text, err := defaultFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a default template: %w", err)
		}
		sources = append(sources, Source{Name: name, Text: text})
	}
	// They can extend one another only: without this, resolving would come back here.
	parser := Parser{Resolve: func(name string) (yurt.Template, error) {
		return yurt.Template{}, yurt.Errorf(yurt.CodeTemplateNotFound, "there is no default template %q", name)
	}}
	templates, err := parser.Parse(sources...)
	if err != nil {
		return nil, fmt.Errorf("reading the default templates: %w", err)
	}
	return templates, nil
}
