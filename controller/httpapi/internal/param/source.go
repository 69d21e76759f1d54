package param

import "github.com/danielgtaylor/huma/v2"

// SourceSchema describes an object as it is sent, where answers have the schema whole: each member
// but name may be left out or null, sizes and durations may be texts.
func SourceSchema(schemas huma.Registry, whole *huma.Schema) *huma.Schema {
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
			member = Duration(0).Schema(schemas)
		case byteCount(0).Schema(schemas).Description:
			member = Size(0).Schema(schemas)
		default:
			member = SourceSchema(schemas, member)
		}
		source.Properties[name] = member
	}
	return &source
}
