package httpapi

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
)

const schemaPrefix = "#/components/schemas/"

// completeSchemas says in the document where null may stand. Huma knows that of scalars and lists
// alone: a member that is a pointer to a struct it calls required and never null. Call it when
// every operation is registered, before the document is written.
func (a *API) completeSchemas() {
	schemas := a.huma.OpenAPI().Components.Schemas
	for name, schema := range schemas.Map() {
		if t := schemas.TypeFromRef(schemaPrefix + name); t != nil {
			allowNullPointers(schema, t)
		}
	}
	seen := map[*huma.Schema]bool{}
	for _, body := range a.bodySchemas {
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

// sourceSchema describes an object as it is sent, where answers have the schema whole: each member
// but name may be left out or null, sizes and durations may be texts.
func sourceSchema(schemas huma.Registry, whole *huma.Schema) *huma.Schema {
	if whole.Ref != "" {
		whole = schemas.SchemaFromRef(whole.Ref)
	}
	source := *whole
	switch {
	case len(whole.Properties) == 0:
		return &source
	case whole.Properties["name"] != nil:
		source.Required = []string{"name"}
	default:
		source.Required = nil
	}
	source.Properties = map[string]*huma.Schema{}
	for name, member := range whole.Properties {
		switch member.Description {
		case seconds(0).Schema(schemas).Description:
			member = durationParam(0).Schema(schemas)
		case byteCount(0).Schema(schemas).Description:
			member = sizeParam(0).Schema(schemas)
		default:
			member = sourceSchema(schemas, member)
		}
		source.Properties[name] = member
	}
	return &source
}

// eventSchema describes one of the server-sent events of a stream, whose data is JSON. It has the form that later
// versions of OpenAPI give events; 3.1 has no form of its own, and readers accept this one.
func eventSchema(data *huma.Schema) *huma.Schema {
	return &huma.Schema{
		Type:        huma.TypeObject,
		Description: "One of the server-sent events.",
		Properties: map[string]*huma.Schema{
			"id":    {Type: huma.TypeString, Description: "Counts from 1."},
			"event": {Type: huma.TypeString, Description: "The type of the event."},
			"data": {Type: huma.TypeString, Description: "An object, as JSON.", Extensions: map[string]any{
				"contentMediaType": typeJSON, "contentSchema": data,
			}},
		},
		Required: []string{"id", "event", "data"},
	}
}
