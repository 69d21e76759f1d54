package launch

import (
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// MaxMessage bounds a message in either direction, in bytes.
const MaxMessage = 128 << 10

// Descriptors that the launcher is started with.
const (
	ControlFD = 3 // its end of the connection
	SelfFD    = 4 // the sealed copy that it runs from
	LockFD    = 5 // the lock, which it holds until it ends; see [New]
)

// Request is one thing to do. Exactly one of its parts is set.
type Request struct {
	ID     uint64         `json:"id"`
	Create *CreateRequest `json:"create,omitempty"`
	Birth  *BirthRequest  `json:"birth,omitempty"` // of the sandbox whose Create had the same ID
	Filter *FilterRequest `json:"filter,omitempty"`
}

// CreateRequest asks for a sandbox, which is begun when a BirthRequest follows. With it come,
// in order: the listening socket, the seccomp filter, and the file for init's standard error.
type CreateRequest struct {
	ID     string        `json:"id"`
	Spec   *specs.Spec   `json:"spec"` // without a path for cgroups where init is born into those that come later
	Layout layout.Layout `json:"layout"`
	Memory int64         `json:"memory"` // that the sandbox's /proc shows, in bytes

	Binds []Bind `json:"binds,omitempty"`
	// Network is the path of the namespace to join, or "node" for the node's; "" is one of its own.
	Network string `json:"network,omitempty"`

	Workspace *Workspace `json:"workspace,omitempty"` // on disk, which the specification binds
}

// Workspace is a workspace on disk: the file of an image, or a directory.
type Workspace struct {
	Path string `json:"path"`
	// Device and Inode tell it from others that the path may lead to by now: users without power may write to directories above.
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Bind is a file or directory of the host that one sandbox gets. File owners keep their numbers inside: its ids are those of the
// sandbox.
type Bind struct {
	Base     string `json:"base,omitempty"` // that Source is below, through no link
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// BirthRequest says that the cgroups of a sandbox are there. With it come the files of those
// that init is born into, and then those of its forking thread.
type BirthRequest struct {
	Births int `json:"births"`
	Homes  int `json:"homes"`
	// Aborted says that there will be no cgroups, and so no sandbox.
	Aborted bool `json:"aborted,omitempty"`
}

// Descriptors of yurt-init in a sandbox that the launcher made.
const (
	InitListenFD = 3
	InitFilterFD = 4
	InitHomesFD  = 5
)

// FilterRequest asks for the compiled seccomp filter with the named groups of calls.
type FilterRequest struct {
	Groups []string `json:"groups,omitempty"`
}

// Reply answers the request of the same ID.
type Reply struct {
	ID     uint64             `json:"id"`
	Error  string             `json:"error,omitempty"`
	PID    int                `json:"pid,omitempty"`       // of the sandbox's init, on the host
	Phases map[string]float64 `json:"phases_ms,omitempty"` // milliseconds
	Filter []byte             `json:"filter,omitempty"`
}
