// Package bounds completes schemas of bodies with the bounds that the server enforces on their members.
package bounds

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Patterns of texts.
const (
	Printable  = `^[^\x00-\x1f\x7f-\x9f]*$`
	WithoutNUL = `^[^\x00]*$`
	Base64     = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
)

// Bound completes the schema of one member of a body with its enforced bounds.
type Bound func(*huma.Schema)

// Narrow applies bounds to the members of an object, by their paths in it.
func Narrow(schemas huma.Registry, object *huma.Schema, bounds map[string]Bound) {
	for path, b := range bounds {
		member := object
		for name := range strings.SplitSeq(path, ".") {
			if member.Ref != "" {
				member = schemas.SchemaFromRef(member.Ref)
			}
			member = member.Properties[name]
		}
		b(member)
	}
}

// Text bounds the length of a text; JSON Schema counts characters where the server counts bytes.
// With most 0 the pattern alone bounds it.
func Text(least, most int, pattern string) Bound {
	return func(s *huma.Schema) {
		s.Pattern = pattern
		if least > 0 {
			s.MinLength = &least
		}
		if most > 0 {
			s.MaxLength = &most
		}
	}
}

// OneOf lists the values of a text.
func OneOf(values ...string) Bound {
	return func(s *huma.Schema) {
		s.Enum = nil
		for _, value := range values {
			s.Enum = append(s.Enum, value)
		}
	}
}

// numeric returns the alternatives of a schema that are numbers.
func numeric(s *huma.Schema) []*huma.Schema {
	var found []*huma.Schema
	for _, alternative := range append([]*huma.Schema{s}, s.OneOf...) {
		if alternative.Type == huma.TypeNumber || alternative.Type == huma.TypeInteger {
			found = append(found, alternative)
		}
	}
	return found
}

// Number bounds a number. Its text form, in any unit, has the same bounds, which no pattern says.
func Number(least, most float64) Bound {
	return func(s *huma.Schema) {
		for _, n := range numeric(s) {
			n.Minimum, n.Maximum = &least, &most
		}
	}
}

// NumberOrZero is number for a member whose zero stands for its default.
func NumberOrZero(least, most float64) Bound {
	return func(s *huma.Schema) {
		for _, n := range numeric(s) {
			n.AnyOf = []*huma.Schema{{Enum: []any{0}}, {Minimum: &least, Maximum: &most}}
		}
	}
}

// List bounds a list and its items. The items' schema may be that of another list too.
func List(most int, item Bound) Bound {
	return func(s *huma.Schema) {
		items := *s.Items
		item(&items)
		s.Items, s.MaxItems = &items, &most
	}
}

// Entries bounds a map: how many entries it has, with 0 any number, their names and their values.
func Entries(most int, name, value Bound) Bound {
	return func(s *huma.Schema) {
		if most > 0 {
			s.MaxProperties = &most
		}
		names := &huma.Schema{}
		name(names)
		s.Extensions = map[string]any{"propertyNames": names}
		if values, is := s.AdditionalProperties.(*huma.Schema); is && value != nil {
			own := *values
			value(&own)
			s.AdditionalProperties = &own
		}
	}
}

// typeNull is the JSON type of null, for which huma has no name.
const typeNull = "null"

// OrNull returns a schema that allows null beside the values of s.
func OrNull(s *huma.Schema) *huma.Schema {
	null := &huma.Schema{Type: typeNull}
	switch {
	case s.Ref != "":
		return &huma.Schema{AnyOf: []*huma.Schema{s, null}, Description: s.Description}
	case len(s.OneOf) > 0:
		s.OneOf = append(s.OneOf, null)
	case s.Type != "":
		s.Nullable = true
		if len(s.Enum) > 0 {
			s.Enum = append(s.Enum, nil)
		}
	} // without a type it allows any value
	return s
}
