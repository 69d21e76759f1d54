package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
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

// MayPut asks a check, which may be nil, about a template, of all that there are.
func MayPut(t yurt.Template, all []yurt.Template, check contract.TemplateCheck) error {
	if check == nil {
		return nil
	}
	at := slices.IndexFunc(all, func(other yurt.Template) bool { return other.Name == t.Name })
	if at < 0 {
		return check(t, nil)
	}
	return check(t, &all[at])
}

// TemplateNotFound is the error for one that is not there.
func TemplateNotFound(name string) error {
	return yurt.Errorf(yurt.CodeTemplateNotFound, "there is no template %.80q; list the templates to see which there are", name)
}
