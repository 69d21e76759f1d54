package yurt

import "strings"

// MaxImageBytes bounds the reference of an image.
const MaxImageBytes = 512

// ValidateImage checks the reference of an image as text: where it leads, and whether
// that is allowed, the node sees.
func ValidateImage(field, reference string) error {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case reference == "":
		return FieldErrorf(CodeInvalidArgument, field, "the reference is empty; give one such as \"debian:13\", \"registry.example.com/team/tool@sha256:…\" or \"oci:/srv/images/tool\"")
	case len(reference) > MaxImageBytes:
		return FieldErrorf(CodeLimitOutOfRange, field, "the reference has %d bytes; at most %d are allowed", len(reference), MaxImageBytes)
	case strings.ContainsFunc(reference, odd):
		return FieldErrorf(CodeInvalidArgument, field, "%q is no reference of an image; it holds spaces, or what is not ASCII", reference)
	}
	return nil
}
