package controller

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
	FileNode
	SandboxNode
	// Runtimes lists the installed language runtimes.
	Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error)
}

// ExecutionNode runs things in sandboxes.
type ExecutionNode interface {
	// StartExecution begins an execution and returns once the node has recorded
	// it. It goes on when the caller leaves.
	StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error
	// WatchExecution calls each with every event after seq, in order, until the
	// ended event, ctx is done or each returns an error. Any number may watch.
	WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error
	// WaitExecution returns the result once the execution has ended.
	WaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error)
	// ForgetExecution releases what the node keeps of an ended execution.
	ForgetExecution(ctx context.Context, sandboxID, executionID string) error
}

// FileNode reaches the files of a sandbox's workspace.
type FileNode interface {
	// WriteFile replaces the file at path with the content, atomically, making
	// parent directories. It reads at most [yurt.MaxFileBytes].
	WriteFile(ctx context.Context, sandboxID, path string, content io.Reader) (yurt.FileInfo, error)
	// ReadFile opens the regular file at path. The caller closes it.
	ReadFile(ctx context.Context, sandboxID, path string) (io.ReadCloser, yurt.FileInfo, error)
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
}

// Placer finds or makes the sandbox of a session.
type Placer interface {
	// Place returns a ready sandbox made from spec, its Node field set.
	Place(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, yurt.Placement, error)
	// Node returns the node of that name.
	Node(ctx context.Context, name string) (Node, error)
	// Nodes returns every node that is reachable now, by name.
	Nodes(ctx context.Context) (map[string]Node, error)
}
