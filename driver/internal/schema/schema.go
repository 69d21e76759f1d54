// Package schema describes blocks of Nomad's configuration and reads the values that Nomad sends for them. The bytes are checked
// before they are decoded: a decoder makes room for as many values as they promise.
package schema

import "github.com/hashicorp/nomad/plugins/shared/hclspec"

// Object is the schema of optional attributes of the given types.
func Object(types map[string]string) *hclspec.Spec {
	attributes := make(map[string]*hclspec.Spec, len(types))
	for name, kind := range types {
		attributes[name] = hclspec.NewAttr(name, kind, false)
	}
	return hclspec.NewObject(attributes)
}
