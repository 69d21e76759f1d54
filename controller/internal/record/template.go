package record

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yurtrun/yurt"
)

// template is the stored form of a template.
type template struct {
	yurt.Template
	Extends string `json:"extends,omitempty"`
}

// EncodeTemplate returns the stored form of a template.
func EncodeTemplate(t yurt.Template) (string, error) {
	body, err := json.Marshal(template{t, t.Extends})
	if err != nil {
		return "", fmt.Errorf("encoding a template: %w", err)
	}
	return string(body), nil
}

// DecodeTemplate reads it.
func DecodeTemplate(body []byte) (yurt.Template, error) {
	var t template
	if err := json.Unmarshal(body, &t); err != nil {
		return yurt.Template{}, fmt.Errorf("decoding a template: %w", err)
	}
	t.Template.Extends = t.Extends
	return t.Template, nil
}

// MayDelete says whether the template of that name can be deleted, of all that there are.
func MayDelete(name string, all []yurt.Template) error {
	var extending []string
	found := false
	for _, t := range all {
		found = found || t.Name == name
		if t.Extends == name {
			extending = append(extending, t.Name)
		}
	}
	switch {
	case !found:
		return TemplateNotFound(name)
	case len(extending) > 0:
		return yurt.Errorf(yurt.CodeTemplateInUse, "template %s is extended by %s; delete these first", name, strings.Join(extending, ", "))
	}
	return nil
}

// TemplateExists is the error for a name that is taken.
func TemplateExists(name string) error {
	return yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s exists; choose another name", name)
}

// TemplateNotFound is the error for one that is not there.
func TemplateNotFound(name string) error {
	return yurt.Errorf(yurt.CodeTemplateNotFound, "there is no template %.80q; list the templates to see which there are", name)
}
