package cluster

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// NodeState is the last news of a node.
type NodeState struct {
	Name      string         // its own, which is also the engine's for it
	Address   string         // host:port at which its executor serves controllers
	Healthy   bool           // it answers
	Draining  bool           // it takes no new sandboxes
	ByEngine  bool           // and that is the engine's doing
	EndsBy    time.Time      // when the drain ends its sandboxes; zero if unknown
	Engine    string         // the engine's word for it while it places nothing new there, such as "down"; else ""
	Warm      map[string]int // sandboxes ready to be claimed, by digest of their template
	Open      int            // slots that are open
	Claimed   int            // slots whose sandbox a session has
	Free      yurt.Resources // room for more sandboxes
	Templates []string       // digests of the templates whose files are there
	UpdatedAt time.Time      // when it was heard
	Capacity  yurt.Capacity  // all that it says of itself
}

// placeable reports whether the engine may place a slot on the node.
func (n *NodeState) placeable() bool { return n.Healthy && !n.Draining && n.Engine == "" }

// View is a picture of the nodes in memory. Its methods return at once. While the source of the picture is away, they return the
// last picture.
type View interface {
	// Nodes returns every node, by name. The caller does not change the map.
	Nodes() []NodeState
	// Node returns the node of that name. One that is silent for a while, during which it may
	// be started again, is still there, and not healthy.
	Node(name string) (NodeState, bool)
	// Changed returns a channel that is closed when anything next changes.
	Changed() <-chan struct{}
	// Status says whether the view is kept up to date, since when that is so or not so,
	// and if it is not, why.
	Status() (live bool, since time.Time, err error)
}

// Order asks the engine for a slot.
type Order struct {
	// SlotID names it, for the engine and for the node. It is [a-z0-9_-]{1,64}.
	SlotID    string
	Template  yurt.Template
	Resources yurt.Resources // complete
	Share     string         // orders with different ones take turns: the tenant
	SessionID string         // only that session may have its sandbox; "" is a warm slot
	Once      bool           // it ends with its first sandbox
	Prefer    []string       // names of nodes, the best first; all of them are wishes
	Avoid     []string       // names of nodes where it must not be: they drain
}

// Job is a slot that the engine knows.
type Job struct {
	SlotID    string
	SessionID string // "" is a warm slot
	Digest    string // of its template
	Node      string // "" while it is not placed
	Away      bool   // the engine does not reach that node; the slot may go on there
	Since     time.Time
	Ended     bool // its processes have ended; Stop has the engine forget it
}

// Engine owns capacity. Its methods may be called concurrently.
type Engine interface {
	// Start asks for the slot and returns the node on which it was placed. It does not wait for the task to run: the node itself
	// says when the sandbox is ready. An error gives the engine's reason for not placing the slot, and leaves no slot behind.
	// Starting a slot that exists is no error.
	Start(ctx context.Context, order Order) (node string, err error)
	// Stop ends a slot and removes every trace of it. One that is not there is no error.
	Stop(ctx context.Context, slotID string) error
	// Jobs lists the slots of all controllers.
	Jobs(ctx context.Context) ([]Job, error)
}

// Client is a connection to the executor of one node. A claim hands a sandbox out once,
// and binds environment, labels and limits of the spec to it.
type Client interface {
	contract.Node
	SlotNode
	// ClaimSandbox hands out a sandbox of the spec's template that is ready, if the node
	// has one with room for the spec's resources.
	ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (_ yurt.Sandbox, found bool, err error)
	// AwaitSandbox hands out the sandbox of that slot once it is ready; the node may not know the slot yet. It fails when the
	// slot ends. Without a slot it hands out the next sandbox of the template that becomes ready in any slot, and fails at once
	// when no slot makes one.
	AwaitSandbox(ctx context.Context, spec yurt.SandboxSpec, slotID string) (yurt.Sandbox, error)
	// Close ends the calls that are under way.
	Close() error
}

// Dial returns a client of the node's executor at that address. It connects when it is
// first used, and again whenever that is needed.
type Dial func(node, address string) (Client, error)
