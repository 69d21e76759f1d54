// Package yurt is the domain: sessions, executions, templates, sandboxes, their
// states and limits, and the closed set of error codes.
//
// Every other package speaks in these types. The package holds only values and rules: it does no
// input or output, starts no goroutine, reads no clock, and imports no other package of this
// module. All its values are safe to copy; concurrent modification of a value is unsafe.
package yurt
