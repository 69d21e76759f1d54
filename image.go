package yurt

import "strings"

// RootEnv returns the names of the variables that belong to a root file system: where its
// programs are, and whose account runs them. Those of an image win over those of a template
// whose root file system the image takes the place of.
func RootEnv() []string { return []string{"PATH", "HOME", "USER"} }

// ImageInfo is a container image that a node has: its identity, and its own settings for running
// it.
type ImageInfo struct {
	Reference string `json:"reference"` // that finds this very image again
	Digest    string `json:"digest"`    // of its manifest for the node's platform
	Bytes     Size   `json:"bytes"`     // of its files
	Entries   int    `json:"entries"`   // files, directories and links

	Env        map[string]string `json:"env,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Command    []string          `json:"command,omitempty"`
	WorkingDir string            `json:"working_dir,omitempty"`
	User       string            `json:"user,omitempty"` // as the image has it: by name or number
	// RunAs is the image's user; nil if that is root, which no sandbox has, or if the image names
	// no user.
	RunAs *User `json:"run_as,omitempty"`
	// Name and Home are that user's in the image's own accounts; "" where it has no account there.
	Name string `json:"name,omitempty"`
	Home string `json:"home,omitempty"`
}

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
