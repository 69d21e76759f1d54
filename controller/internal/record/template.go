package record

import (
	"encoding/json"
	"fmt"

	"github.com/yurtrun/yurt"
)

// EncodeTemplate returns what is stored of a template.
func EncodeTemplate(t yurt.Template) (string, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encoding a template: %w", err)
	}
	return string(body), nil
}

// DecodeTemplate reads it.
func DecodeTemplate(body []byte) (yurt.Template, error) {
	var t yurt.Template
	if err := json.Unmarshal(body, &t); err != nil {
		return yurt.Template{}, fmt.Errorf("decoding a template: %w", err)
	}
	return t, nil
}

// TemplateExists is the error for a name that is taken.
func TemplateExists(name string) error {
	return yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s exists; choose another name", name)
}

// TemplateNotFound is the error for one that is not there.
func TemplateNotFound(name string) error {
	return yurt.Errorf(yurt.CodeTemplateNotFound, "there is no template %.80q; list the templates to see which there are", name)
}
