package broker

import (
	"context"
	"net"
	"os"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// Broker carries out requests that need power over the host. All methods may be called at the same time.
type Broker interface {
	Cgroups
	RunCgroups

	// Start makes the cgroups, namespaces, disk and root of a sandbox, and starts its init. When it fails, neither processes nor
	// cgroups are left; its disk is, until [Broker.RemoveDisk].
	Start(ctx context.Context, request StartRequest) (Started, error)
	// RemoveDisk removes the directory of a sandbox on disk, with its workspace. A missing one is no error.
	RemoveDisk(sandboxID string) error
	// Open opens a directory inside a sandbox, as a place from which paths are resolved. No link leads there. The caller closes it.
	Open(in Sandbox, at Place) (*os.File, error)
	// Resize gives the file systems in memory of a sandbox, and the memory that its /proc shows, the sizes of other limits. They are
	// within the limit of memory that is in force.
	Resize(in Sandbox, from, to yurt.Resources) error
	// Mount mounts a tree of the node inside a sandbox, read-only, at the place of such trees.
	Mount(in Sandbox, tree Tree) error
	// Shows reports whether a tree is mounted inside a sandbox. It is an error if the sandbox has no place for it.
	Shows(in Sandbox, tree Tree) (bool, error)
	// Listen returns a listener at a free port of the sandbox's loopback interface.
	Listen(in Sandbox) (net.Listener, error)
}

// Sandbox names a sandbox whose init runs.
type Sandbox struct {
	ID   string
	Init procid.ID
}

// Place is a directory that every sandbox has.
type Place string

// The places.
const (
	Root      Place = "/"
	Workspace Place = yurt.WorkspaceDir
	Temp      Place = "/tmp"
	Runs      Place = rootfs.RunDir // of files that the node writes and executions read
)

// Tree is a directory of the node that a sandbox sees. One of the fields is set.
type Tree struct {
	Layer string // the digest of a dependency layer
	View  string // the runtime whose installed packages the sandbox's own view shows
}

// target returns the mount point of the tree inside.
func (t Tree) target() string {
	switch {
	case t.Layer != "":
		return packages.LayersDir + "/" + t.Layer
	case t.View == "python":
		return packages.PythonDir
	default:
		return packages.NodeDir
	}
}

// StartRequest describes a new sandbox.
type StartRequest struct {
	Spec   yurt.SandboxSpec
	IDBase uint32 // the first of its range of host ids
	Layout layout.Layout

	Listener *os.File // init's listening socket
	Words    *os.File // init's standard error
}

// Started is a sandbox whose init was started.
type Started struct {
	Init   procid.ID
	Phases map[string]float64 // milliseconds
}
