package sdk

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// schema is a schema of the OpenAPI document, or another object there.
type schema map[string]any

func (s schema) object(name string) schema {
	inner, _ := s[name].(map[string]any)
	return inner
}

func (s schema) text(name string) string {
	text, _ := s[name].(string)
	return text
}

func (s schema) list(name string) []schema {
	items, _ := s[name].([]any)
	var all []schema
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

// kind returns the type of a value that is not null.
func (s schema) kind() string {
	kinds, ok := s["type"].([]any)
	if !ok {
		return s.text("type")
	}
	for _, kind := range kinds {
		if name, isText := kind.(string); isText && name != "null" {
			return name
		}
	}
	return ""
}

// members returns the names of the properties that an object has by name, but for a problem, which a success has not.
func (s schema) members() []string {
	names := slices.Sorted(maps.Keys(s.object("properties")))
	return slices.DeleteFunc(names, func(name string) bool { return name == "$schema" || name == "problem" })
}

// openAPI is the document.
type openAPI struct{ schema }

func readOpenAPI(t testing.TB) openAPI {
	t.Helper()
	text, err := os.ReadFile(document(t))
	var api schema
	if err == nil {
		err = json.Unmarshal(text, &api)
	}
	if err != nil {
		t.Fatal(err)
	}
	return openAPI{api}
}

// resolved follows references, and chooses the first of several kinds of value.
func (d openAPI) resolved(s schema) schema {
	if ref, ok := strings.CutPrefix(s.text("$ref"), "#/components/schemas/"); ok {
		return d.resolved(d.object("components").object("schemas").object(ref))
	}
	for _, several := range []string{"anyOf", "oneOf"} {
		for _, one := range s.list(several) {
			if one.text("type") != "null" {
				return d.resolved(one)
			}
		}
	}
	return s
}

// fields returns the paths of the fields of an object, and of the objects in it in their place, such as "body.resources.cpu".
func (d openAPI) fields(s schema, path string) []string {
	s = d.resolved(s)
	var all []string
	for _, name := range s.members() {
		all = append(all, d.fields(s.object("properties").object(name), path+"."+name)...)
	}
	if len(all) == 0 {
		return []string{path}
	}
	return all
}

// filler makes values with every field of the document, each different from the others where its type allows that.
type filler struct {
	document openAPI
	count    int
	values   map[string]any // by place
}

// fill makes a value. place is its operation and path.
func (f *filler) fill(s schema, place string) any {
	s = f.document.resolved(s)
	switch s.kind() {
	case "object":
		object := map[string]any{}
		for _, name := range s.members() {
			object[name] = f.fill(s.object("properties").object(name), place+"."+name)
		}
		if more := s.object("additionalProperties"); len(object) == 0 && more != nil {
			object["key"] = f.fill(more, place+".key")
		}
		return object
	case "array":
		return []any{f.fill(s.object("items"), place)}
	default:
		if _, made := f.values[place]; !made {
			f.count++
			f.values[place] = f.plain(s, place)
		}
		return f.values[place]
	}
}

// plain makes a value that is no object and no array.
func (f *filler) plain(s schema, place string) any {
	name := place[strings.LastIndex(place, ".")+1:]
	examples, _ := s["examples"].([]any)
	different := fmt.Sprintf("sent%dx", f.count)
	switch kind := s.kind(); {
	case name == "next_cursor":
		return ""
	case kind == "boolean", s["enum"] != nil, name == "mode":
		return alike(s)
	case strings.HasSuffix(name, "_base64"):
		return base64.StdEncoding.EncodeToString([]byte(different))
	case s.text("format") == "date-time":
		return time.Unix(int64(1_000_000_000+f.count), 0).UTC().Format(time.RFC3339)
	case kind == "integer", kind == "number":
		return 1_000_000 + f.count
	case len(examples) > 0:
		return fmt.Sprintf("%v%s", examples[0], different)
	default:
		return different
	}
}

// alike returns a value of a type that has few of them.
func alike(s schema) any {
	if values, ok := s["enum"].([]any); ok {
		return values[0]
	}
	if s.kind() == "boolean" {
		return true
	}
	return "0640" // permission bits
}
