package taskspec

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/internal/suggest"
)

// defaultTemplate is the template of a task that runs a command and names no template.
const defaultTemplate = "shell-basic"

// Templates are those that jobs may name.
type Templates struct {
	// Shipped returns those that ship, which cost more to read than the rest of a task's start.
	Shipped func() ([]yurt.Template, error)
	Dir     string // of the operator's own; "" for none
}

// Known returns all of them by name.
func (t Templates) Known() (map[string]yurt.Template, error) {
	list, err := t.Shipped()
	if err != nil {
		return nil, err
	}
	known := make(map[string]yurt.Template, len(list))
	for _, one := range list {
		known[one.Name] = one
	}
	if t.Dir == "" {
		return known, nil
	}
	if _, err := os.Stat(t.Dir); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeUnavailable, "template_dir", "reading the operator's templates: %w", err)
	}
	own, err := (&hcl.Parser{Resolve: resolver(known)}).ParseFiles(t.Dir)
	if err != nil {
		return nil, err
	}
	for _, one := range own {
		known[one.Name] = one
	}
	return known, nil
}

func resolver(known map[string]yurt.Template) func(string) (yurt.Template, error) {
	return func(name string) (yurt.Template, error) {
		if t, ok := known[name]; ok {
			return t, nil
		}
		names := slices.Sorted(maps.Keys(known))
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateNotFound, "template", "there is no template %q on this node; there are %s%s",
			name, strings.Join(names, ", "), suggest.Question(name, names))
	}
}

// of returns the template of a task.
func (t Templates) of(task *Config) (yurt.Template, error) {
	text := task.Template
	if task.Slot != nil && task.Slot.TemplateJSON != "" {
		return oneTemplate("slot.template_json", func() ([]yurt.Template, error) {
			t, err := hcl.ParseJSON([]byte(task.Slot.TemplateJSON))
			return []yurt.Template{t}, err
		})
	}
	if text != "" && !isName(text) && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return oneTemplate("template", func() ([]yurt.Template, error) {
			t, err := hcl.ParseJSON([]byte(text))
			return []yurt.Template{t}, err
		})
	}
	known, err := t.Known()
	if err != nil {
		return yurt.Template{}, err
	}
	if task.Image != "" {
		giveWay(known)
	}
	switch {
	case text == "" && task.Language != "":
		return languageTemplate(known, task.Language)
	case text == "":
		return resolver(known)(defaultTemplate)
	case isName(text):
		return resolver(known)(text)
	}
	parser := hcl.Parser{Resolve: resolver(known)}
	return oneTemplate("template", func() ([]yurt.Template, error) {
		return parser.Parse(hcl.Source{Name: "template", Text: []byte(text)})
	})
}

// giveWay takes the variables that belong to their root file systems from the templates, for a
// task that has an image in its place. A template in the job's own text keeps its own.
func giveWay(known map[string]yurt.Template) {
	for name, one := range known {
		one.Env = maps.Clone(one.Env)
		for _, variable := range yurt.RootEnv() {
			delete(one.Env, variable)
		}
		known[name] = one
	}
}

// oneTemplate returns the one template of a source.
func oneTemplate(field string, parse func() ([]yurt.Template, error)) (yurt.Template, error) {
	list, err := parse()
	if err != nil {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateInvalid, field, "%w", err)
	}
	if len(list) != 1 {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeTemplateInvalid, field, "it has %d templates; give one", len(list))
	}
	return list[0], nil
}

// languageTemplate is the template that ships for a language.
func languageTemplate(known map[string]yurt.Template, language string) (yurt.Template, error) {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if t := known[name]; strings.HasSuffix(name, "-basic") && slices.Contains(t.Runtimes, language) {
			return t, nil
		}
	}
	return resolver(known)(language + "-basic")
}
