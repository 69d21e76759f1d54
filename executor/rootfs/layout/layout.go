package layout

// Paths inside every sandbox.
const (
	InitPath = "/.yurt-init" // the binary of its first process
	DevDir   = "/dev"        // the same harmless devices for all, and mount points for what is not
)

// Layout is the skeleton of a root file system and what is bound over it. All
// paths are absolute inside the sandbox. Parents come before what is in them.
type Layout struct {
	Dirs  []string `json:"dirs"`
	Links []Link   `json:"links"`
	Files []File   `json:"files"`
	Binds []string `json:"binds"` // of the host, to the same path, read-only

	// Image is a directory of the host whose files are there where the skeleton has none; ""
	// for none. ImageID tells it from another that was at the same path before.
	Image   string `json:"image,omitempty"`
	ImageID string `json:"image_id,omitempty"`
}

// Link is a symbolic link.
type Link struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

// File is a small regular file that is made for the sandbox.
type File struct {
	Path string `json:"path"`
	Data string `json:"data"`
}
