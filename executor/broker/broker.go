package broker

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/imagefiles"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// Broker carries out requests that need power over the host. Each names a sandbox by its id, and the broker finds its init and its cgroup
// itself. All methods may be called at the same time.
type Broker interface {
	Cgroups
	RunCgroups
	Insides
	Processes
	programs.Requests
	imagefiles.Requests

	// Start makes the cgroups, namespaces, disk and root of a sandbox, and starts its init. When it fails, neither processes nor
	// cgroups are left; its disk is, until [Broker.RemoveDisk].
	Start(ctx context.Context, request StartRequest) (Started, error)
	// RemoveDisk removes the directory of a sandbox on disk, with its workspace. A missing one is no error, a sandbox that still has a
	// cgroup is one.
	RemoveDisk(sandboxID string) error
}

// Insides is the requests about the files and the network inside a sandbox.
type Insides interface {
	// Open opens directories inside a sandbox, as places from which paths are resolved. No link leads there. The caller closes the files,
	// which come in the order of the places. There is at least one, and each is given once.
	Open(sandboxID string, at ...Place) ([]*os.File, error)
	// Resize replaces the limits of a sandbox that has not run user code yet: of its cgroup, its file systems in memory and the memory
	// that its /proc shows. They are within the bounds of all sandboxes together.
	Resize(sandboxID string, from, to yurt.Resources) error
	// Mount mounts a tree of the node inside a sandbox, read-only, at the place of such trees.
	Mount(sandboxID string, tree Tree) error
	// Shows reports whether a tree is mounted inside a sandbox. It is an error if the sandbox has no place for it.
	Shows(sandboxID string, tree Tree) (bool, error)
	// Listen returns a listener at a free port of the sandbox's loopback interface.
	Listen(sandboxID string) (net.Listener, error)
}

// Processes is the requests about single processes of a sandbox.
type Processes interface {
	// Signal sends a signal to one process of a sandbox's runs. For another process, also one that has its number by now, it fails with
	// [yurt.CodeProcessNotFound].
	Signal(sandboxID string, process procid.ID, signal yurt.Signal) error
	// KillInit ends the init of a sandbox, and with it all other processes there.
	KillInit(sandboxID string) error
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

// checkPlaces refuses an empty list, and one that is longer than there are places.
func checkPlaces(list []Place) error {
	if len(list) == 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "places", "the list is empty; name a place at least")
	}
	for i, p := range list {
		if slices.Contains(list[:i], p) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "places", "%.200q is named twice; name it once", p)
		}
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

func (p Place) check() error {
	switch p {
	case Root, Workspace, Temp, Runs:
		return nil
	}
	return yurt.FieldErrorf(yurt.CodeInvalidArgument, "places", "%.200q is no place of every sandbox; give %q, %q, %q or %q", p, Root, Workspace, Temp, Runs)
}

// Tree is a directory of the node that a sandbox sees. One of the fields is set.
type Tree struct {
	Layer string // the digest of a dependency layer
	View  string // the runtime whose installed packages the sandbox's own view shows
}

// check refuses trees of no kind or of both, and names that could be paths.
func (t Tree) check() error {
	if t.View == "" && isDigest(t.Layer) {
		return nil
	}
	if t.Layer == "" && t.View != "" && len(t.View) <= maxView && !strings.HasPrefix(t.View, ".") && strings.Trim(t.View, runCharacters) == "" {
		return nil
	}
	return yurt.FieldErrorf(yurt.CodeInvalidArgument, "tree", "%.200q and %.200q name no tree; give the digest of a layer, or the name of a runtime, and not both", t.Layer, t.View)
}

// maxView bounds the name of a runtime, in bytes.
const maxView = 64

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
	ID        string           `json:"id"`
	Limits    yurt.Resources   `json:"limits"` // with those of its template
	Isolation yurt.Isolation   `json:"isolation"`
	Host      *yurt.HostAccess `json:"host,omitempty"`
	IDBase    uint32           `json:"id_base"` // the first of its range of host ids
	Root      RootParts        `json:"root"`
}

// Started is a sandbox whose init was started.
type Started struct {
	Gauge    Gauge              `json:"-"`
	Init     procid.ID          `json:"init"`
	Phases   map[string]float64 `json:"phases_ms"`
	Commands []string           `json:"commands,omitempty"` // directories of the toolchains' commands, for PATH
	Next     Run                `json:"-"`                  // of its first run, made ahead, see [RunCgroups.EndRun]
}
