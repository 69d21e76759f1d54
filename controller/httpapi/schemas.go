package httpapi

import "github.com/danielgtaylor/huma/v2"

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
