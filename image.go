package yurt

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
