package hcl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/yurtrun/yurt"
)

// Settings are the values of files of settings, which hold NAME = VALUE and no blocks.
type Settings struct {
	values map[string]Setting
	files  map[string]*hcl.File
}

// Setting is a value of a file of settings, with its place.
type Setting struct {
	Name  string
	Value cty.Value
	File  string
	Line  int

	at hcl.Range // of the value
}

// ParseSettings reads sources of settings. The values are constants; a later source wins over an earlier one. A name that is not
// among names is an error that suggests the nearest. accept is asked for each value, and its error is reported with the place of
// the value. The error of all problems is an [*Error].
func ParseSettings(names []string, accept func(Setting) error, sources ...Source) (*Settings, error) {
	run := &parse{parser: &Parser{}, evaluator: newEvaluator(), files: map[string]*hcl.File{}}
	settings := &Settings{values: map[string]Setting{}, files: run.files}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, source := range sources {
		if run.total += len(source.Text); run.total > MaxSourceBytes {
			run.files[source.Name] = &hcl.File{Bytes: source.Text}
			run.report(tooLarge(source.Name))
			break
		}
		for _, attr := range run.attributesOfFile(source, "file of settings") {
			if !known[attr.Name] {
				run.report(problem(&attr.NameRange, "Unknown setting", "There is no setting %q.%s", attr.Name, didYouMean(attr.Name, names)))
				continue
			}
			value, ok := run.constant(attr.Expr, "file of settings")
			if !ok {
				continue
			}
			setting := Setting{Name: attr.Name, Value: value, File: source.Name, Line: attr.NameRange.Start.Line, at: attr.Expr.Range()}
			if err := accept(setting); err != nil {
				run.report(problem(&setting.at, "Invalid value", "%s", err))
				continue
			}
			settings.values[setting.Name] = setting
		}
	}
	if len(run.diags) > 0 {
		return nil, settings.failure(run.diags)
	}
	return settings, nil
}

// Get returns a setting that a file has.
func (s *Settings) Get(name string) (Setting, bool) {
	setting, ok := s.values[name]
	return setting, ok
}

// Refuse returns the error about the value of a setting that is in a file, with its place there.
func (s *Settings) Refuse(name string, err error) error {
	setting, ok := s.values[name]
	if !ok {
		return err
	}
	return s.failure(hcl.Diagnostics{problem(&setting.at, "Invalid value", "%s", err)})
}

func (s *Settings) failure(diags hcl.Diagnostics) error {
	failure := newError(diags, s.files)
	failure.code = yurt.CodeInvalidArgument
	return failure
}

// Text returns the value as a flag takes it; a list as its parts.
func (s Setting) Text() (text string, list []string, err error) {
	value := s.Value
	switch {
	case value.IsNull():
		return "", nil, errors.New("null is no value; leave the setting out for its default")
	case value.Type() == cty.String:
		return value.AsString(), nil, nil
	case value.Type() == cty.Number:
		return value.AsBigFloat().Text('f', -1), nil, nil
	case value.Type() == cty.Bool:
		return fmt.Sprint(value.True()), nil, nil
	case value.CanIterateElements() && !value.Type().IsObjectType() && !value.Type().IsMapType():
		list = []string{}
		for it := value.ElementIterator(); it.Next(); {
			_, element := it.Element()
			if element.IsNull() || element.Type() != cty.String {
				return "", nil, errors.New("a list holds texts in quotes, such as [\"a\", \"b\"]")
			}
			list = append(list, element.AsString())
		}
		return strings.Join(list, ","), list, nil
	default:
		return "", nil, errors.New("give a text in quotes, a number, true, false, or a list of texts")
	}
}
