package document

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
)

// SchemaPrefix begins a reference to a schema of the document.
const SchemaPrefix = "#/components/schemas/"

// AllowNulls says in the document where null may stand: in optional members of the bodies of requests, and where an answer has a
// pointer. Huma knows that of scalars and lists alone: a member that is a pointer to a struct it calls required and never null. Call
// it when every operation is registered, before the document is written.
func AllowNulls(of *huma.OpenAPI, bodies []*huma.Schema) {
	schemas := of.Components.Schemas
	for name, schema := range schemas.Map() {
		if t := schemas.TypeFromRef(SchemaPrefix + name); t != nil {
			allowNullPointers(schema, t)
		}
	}
	seen := map[*huma.Schema]bool{}
	for _, body := range bodies {
		allowNullMembers(schemas, body, seen)
	}
}

// allowNullPointers lets the members of an object be null that are pointers to objects and always
// written.
func allowNullPointers(schema *huma.Schema, t reflect.Type) {
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		member := schema.Properties[name]
		if member == nil || field.Type.Kind() != reflect.Pointer || strings.Contains(options, "omit") {
			continue
		}
		schema.Properties[name] = bounds.OrNull(member)
	}
}

// allowNullMembers lets the optional members of a request's body be null, which is read as if they
// were not there. It goes on to the bodies below.
func allowNullMembers(schemas huma.Registry, schema *huma.Schema, seen map[*huma.Schema]bool) {
	if schema.Ref != "" {
		schema = schemas.SchemaFromRef(schema.Ref)
	}
	if seen[schema] {
		return
	}
	seen[schema] = true
	required := map[string]bool{}
	for _, name := range schema.Required {
		required[name] = true
	}
	for name, member := range schema.Properties {
		allowNullMembers(schemas, member, seen)
		if !required[name] {
			schema.Properties[name] = bounds.OrNull(member)
		}
	}
}
