package layout

// Paths inside every sandbox.
const (
	InitPath = "/.yurt-init"  // the binary of its first process
	EmptyDir = "/.yurt-empty" // covers files that no process may see
	ProcDir  = "/.yurt-proc"  // has the files that cover those of /proc, where they are the same in all sandboxes
	DevDir   = "/dev"         // the same harmless devices for all, and mount points for a sandbox's own
)

// Layout is the skeleton of a root file system and the binds over it. All paths are absolute inside the sandbox.
// Parents come before their contents.
type Layout struct {
	Dirs  []string `json:"dirs"`
	Links []Link   `json:"links"`
	Files []File   `json:"files"`
	Binds []string `json:"binds"` // of the host, to the same path, read-only

	// Image is a directory of the host whose files appear where the skeleton has no file; "" without an image. ImageID
	// distinguishes images that had the same path at different times.
	Image   string `json:"image,omitempty"`
	ImageID string `json:"image_id,omitempty"`

	// Devices are in DevDir beside those that all sandboxes have.
	Devices []Device `json:"devices,omitempty"`
}

// Device is a device node, which anyone in the sandbox may use.
type Device struct {
	Path   string `json:"path"`
	Block  bool   `json:"block,omitempty"` // or a character device
	Major  uint32 `json:"major"`
	Minor  uint32 `json:"minor"`
	Access string `json:"access"` // "r", "w" or "rw"
}

// Kind is the letter of its kind, as in rules of cgroups.
func (d Device) Kind() string {
	if d.Block {
		return "b"
	}
	return "c"
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
