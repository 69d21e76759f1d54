// Package lib marks text.
package lib

// Mark says where text has been.
func Mark(text string) string { return "lib: " + text }
