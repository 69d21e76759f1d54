package contract

import (
	"context"
	"io"

	"github.com/yurtrun/yurt"
)

// Node is one machine's executor, as the controller uses it: in the same process
// for the local placer, over the network for the others. Its methods may be
// called concurrently. Errors carry a [yurt.Code].
type Node interface {
	ExecutionNode
	ControlNode
	ContextNode
	FileNode
	TreeNode
	SandboxNode
	PauseNode
	ProcessNode
	// Runtimes lists the installed language runtimes.
	Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error)
}

// ExecutionNode runs things in sandboxes.
type ExecutionNode interface {
	// RunExecution begins an execution and returns once the node has recorded it. The execution goes on when the caller
	// leaves. The caller calls result once, also to leave; it does the work of AwaitExecution. When its connection fails, the
	// execution can be waited for again.
	RunExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) (result func(ctx context.Context) (*yurt.Result, error), err error)
	// WatchExecution calls each with every event after seq, in order, until the
	// ended event, ctx is done or each returns an error. Any number may watch.
	WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error
	// AwaitExecution returns the result once the execution has ended. Large output is apart from it: the caller reads it
	// before it forgets the execution.
	AwaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error)
	// ForgetExecution releases the node's record of an ended execution.
	ForgetExecution(ctx context.Context, sandboxID, executionID string) error
}

// ControlNode acts on executions that run. One that has ended is a
// [yurt.CodeExecutionEnded] error.
type ControlNode interface {
	// WriteStdin gives an execution data to read, and then the end of its stdin if
	// eof is set. It waits while the execution does not read, but not beyond ctx.
	WriteStdin(ctx context.Context, sandboxID, executionID string, data []byte, eof bool) error
	// SignalExecution sends a signal to its first process and that one's group;
	// [yurt.SignalKill] ends every process of the execution.
	SignalExecution(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error
	// ResizeExecution gives its terminal another size.
	ResizeExecution(ctx context.Context, sandboxID, executionID string, size yurt.TerminalSize) error
}

// ContextNode keeps interpreters whose state lasts between executions. An empty language
// means each that has a context of the name.
type ContextNode interface {
	// Contexts lists the contexts of a sandbox by name.
	Contexts(ctx context.Context, sandboxID string) ([]yurt.Context, error)
	// RestartContext ends the interpreter of a context with its present execution; waiting executions go on in a fresh one.
	RestartContext(ctx context.Context, sandboxID, name, language string) error
	// RemoveContext ends a context with everything that runs or waits in it.
	RemoveContext(ctx context.Context, sandboxID, name, language string) error
	// AskContext asks the interpreter of a context about code that is not run.
	AskContext(ctx context.Context, sandboxID, name string, question yurt.Question) (yurt.Answer, error)
}

// FileNode reaches the files of a sandbox's workspace, and no file outside of it, past all links.
type FileNode interface {
	// WriteFile replaces the file at path with the content, atomically, or adds to
	// it, making parent directories. A condition holds until the content is there. It reads at most [yurt.MaxFileBytes].
	WriteFile(ctx context.Context, sandboxID, path string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error)
	// ReadFile opens a span of the regular file at path. The caller closes it.
	ReadFile(ctx context.Context, sandboxID, path string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error)
	// StatFile describes the entry at path and follows no link.
	StatFile(ctx context.Context, sandboxID, path string) (yurt.FileInfo, error)
	// ListFiles lists a part of the entries below the directory at path.
	ListFiles(ctx context.Context, sandboxID, path string, options yurt.ListOptions) (yurt.FileList, error)
	// MakeDir makes the directory at path and those above it. Mode 0 is 0755. One
	// that is there is no error.
	MakeDir(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error)
	// MoveFile moves an entry to another path, and makes parent directories. It replaces a file only where replace says so, and
	// a directory never.
	MoveFile(ctx context.Context, sandboxID, from, to string, replace bool) (yurt.FileInfo, error)
	// ChmodFile sets the permission bits of the entry at path.
	ChmodFile(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error)
	// RemoveFile removes the entry at path. A directory must be empty unless all says that its content goes too.
	RemoveFile(ctx context.Context, sandboxID, path string, all bool) error
}

// TreeNode reaches whole directories of a sandbox's workspace.
type TreeNode interface {
	// PackFiles writes the content of the directory at path to a tar archive. Without such a directory it writes no byte.
	PackFiles(ctx context.Context, sandboxID, path string, to io.Writer) error
	// UnpackFiles reads a tar archive, within the bounds of the domain, into the directory at path, which it makes. Files from
	// before an error stay.
	UnpackFiles(ctx context.Context, sandboxID, path string, archive io.Reader) (yurt.Unpacked, error)
	// WatchFiles calls ready once it watches, and then each with every change in the directory at path, and below it if deep. It
	// ends when ctx is done, when the directory or the sandbox is gone, which is no error, or when each returns an error.
	WatchFiles(ctx context.Context, sandboxID, path string, deep bool, ready func(), each func(yurt.FileEvent) error) error
}

// SandboxNode owns sandboxes.
type SandboxNode interface {
	// Sandboxes lists every sandbox that the node owns, dead ones that were not
	// destroyed yet included.
	Sandboxes(ctx context.Context) ([]yurt.Sandbox, error)
	// DestroySandbox ends everything in the sandbox and removes it. Destroying
	// one that does not exist is no error.
	DestroySandbox(ctx context.Context, sandboxID string) error
	// WatchSandboxes calls died for each sandbox whose init is gone without
	// having been destroyed, until ctx is done.
	WatchSandboxes(ctx context.Context, died func(yurt.Sandbox)) error
	// SetDraining has the node take no new sandboxes, or take them again.
	SetDraining(ctx context.Context, draining bool) error
}

// PauseNode stops sandboxes for a while.
type PauseNode interface {
	// PauseSandbox stops every process of the sandbox's executions; their timeouts stand still, and new ones are refused. A
	// paused sandbox stays so.
	PauseSandbox(ctx context.Context, sandboxID string) error
	// ResumeSandbox lets a paused sandbox go on. One that is not it leaves alone.
	ResumeSandbox(ctx context.Context, sandboxID string) error
}

// ProcessNode looks into sandboxes.
type ProcessNode interface {
	// Processes lists the processes of executions, and those that outlived theirs.
	Processes(ctx context.Context, sandboxID string) ([]yurt.Process, error)
	// SignalProcess sends a signal to one of them, by its number in the sandbox.
	SignalProcess(ctx context.Context, sandboxID string, pid int, signal yurt.Signal) error
	// SandboxStats returns the resource use of the sandbox.
	SandboxStats(ctx context.Context, sandboxID string) (yurt.SandboxStats, error)
	// SandboxHealth asks the sandbox's init whether it answers. A sandbox that is dead is no error.
	SandboxHealth(ctx context.Context, sandboxID string) (yurt.SandboxHealth, error)
}

// TemplateNode is a [Node] that installs packages of templates ahead.
type TemplateNode interface {
	// PrepareTemplate installs the packages of the template, and passes their output on meanwhile.
	PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error
}

// Hints say where a session would like to be. A placer may follow them.
type Hints struct {
	Prefer []string // names of nodes, the best first
}

// Placer finds or makes the sandbox of a session. Its methods may be called concurrently.
type Placer interface {
	// Place returns a ready sandbox made from spec, its Node field set. After an error it has left no sandbox behind, or is
	// about to remove it.
	Place(ctx context.Context, spec yurt.SandboxSpec, hints Hints) (yurt.Sandbox, yurt.Placement, error)
	// Ready returns the reason why the placer can place no session now, or nil.
	Ready(ctx context.Context) error
	// Warnings lists the faults that do not keep the placer from serving.
	Warnings() []string
	// Pools describes the warm pools of the templates, in their order.
	Pools(ctx context.Context, templates []yurt.Template) ([]yurt.Pool, error)
	NodePlacer
	SlotPlacer
}

// NodePlacer knows the nodes.
type NodePlacer interface {
	// Node returns the node of that name.
	Node(ctx context.Context, name string) (Node, error)
	// Nodes returns every node that is reachable now, by name.
	Nodes(ctx context.Context) (map[string]Node, error)
	// NodeList describes every node that is known, by name, also one that does not answer.
	NodeList(ctx context.Context) ([]yurt.NodeInfo, error)
}

// SlotPlacer owns resources of sessions beside their sandboxes: the slots of a cluster. Other placers have
// an empty list of them.
type SlotPlacer interface {
	// Release ends the resources of a session whose sandbox is destroyed. It may be called again, and for sessions without any.
	Release(ctx context.Context, session yurt.Session) error
	// HeldSlots lists the ids of the sessions that have resources.
	HeldSlots(ctx context.Context) ([]string, error)
}
