// Package oci describes a sandbox as an OCI runtime specification,
// which every sandbox engine reads.
//
// The isolation of the level "namespaces" is decided here and nowhere else; it
// can be read top to bottom in spec.go.
package oci
