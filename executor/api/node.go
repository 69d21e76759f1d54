package api

import (
	"context"
	"io"

	"github.com/yurtrun/yurt"
)

// Node is the executor behind a [Server].
type Node interface {
	Sandboxes
	Pauses
	Processes
	Reserves
	Slots
	Capacities
	Executions
	Contexts
	Controls
	Files
	Trees
	// Runtimes lists the installed language runtimes.
	Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error)
	// PrepareTemplate pulls the image of a template and installs its packages.
	PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error
	// PrepareImage pulls an image.
	PrepareImage(ctx context.Context, reference string, tell func(string) error) (yurt.ImageInfo, error)
}

// Sandboxes is the part of a [Node] that owns sandboxes.
type Sandboxes interface {
	CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error)
	DestroySandbox(ctx context.Context, sandboxID string) error
	Sandboxes(ctx context.Context) ([]yurt.Sandbox, error)
	WatchSandboxes(ctx context.Context, died func(yurt.Sandbox)) error
}

// Pauses is the part of a [Node] that stops sandboxes for a while.
type Pauses interface {
	PauseSandbox(ctx context.Context, sandboxID string) error
	ResumeSandbox(ctx context.Context, sandboxID string) error
}

// Processes is the part of a [Node] that looks into sandboxes.
type Processes interface {
	Processes(ctx context.Context, sandboxID string) ([]yurt.Process, error)
	SignalProcess(ctx context.Context, sandboxID string, pid int, signal yurt.Signal) error
	SandboxStats(ctx context.Context, sandboxID string) (yurt.SandboxStats, error)
	SandboxHealth(ctx context.Context, sandboxID string) (yurt.SandboxHealth, error)
}

// Reserves is the part of a [Node] that keeps sandboxes ready.
type Reserves interface {
	ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error)
	ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (_ yurt.Sandbox, found bool, err error)
	AwaitSandbox(ctx context.Context, spec yurt.SandboxSpec, slotID string) (yurt.Sandbox, error)
	Reserves(ctx context.Context) ([]yurt.Reserve, error)
	ReleaseReserve(ctx context.Context, digest string) error
}

// Slots is the part of a [Node] that keeps a sandbox ready in each slot.
type Slots interface {
	OpenSlot(ctx context.Context, spec yurt.SlotSpec) (yurt.Slot, error)
	CloseSlot(ctx context.Context, id string) error
	WaitSlot(ctx context.Context, id string) (yurt.Slot, error)
	Slots(ctx context.Context) ([]yurt.Slot, error)
	WatchSlots(ctx context.Context, id string, each func([]yurt.Slot) error) error
	RetireSlots(ctx context.Context, digest string, most int) ([]string, error)
}

// Capacities is the part of a [Node] that reports its capacity, and stops or resumes taking sandboxes.
type Capacities interface {
	SetDraining(ctx context.Context, draining bool) error
	WatchCapacity(ctx context.Context, each func(yurt.Capacity) error) error
}

// Contexts is the part of a [Node] that keeps interpreters.
type Contexts interface {
	Contexts(ctx context.Context, sandboxID string) ([]yurt.Context, error)
	RestartContext(ctx context.Context, sandboxID, name, language string) error
	RemoveContext(ctx context.Context, sandboxID, name, language string) error
	AskContext(ctx context.Context, sandboxID, name string, question yurt.Question) (yurt.Answer, error)
}

// Executions is the part of a [Node] that runs things in sandboxes.
type Executions interface {
	StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error
	WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error
	AwaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error)
	ForgetExecution(ctx context.Context, sandboxID, executionID string) error
}

// Controls is the part of a [Node] that acts on executions that run.
type Controls interface {
	WriteStdin(ctx context.Context, sandboxID, executionID string, data []byte, eof bool) error
	SignalExecution(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error
	SignalMain(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error
	ResizeExecution(ctx context.Context, sandboxID, executionID string, size yurt.TerminalSize) error
}

// Files is the part of a [Node] that reaches the files of workspaces.
type Files interface {
	WriteFile(ctx context.Context, sandboxID, path string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error)
	ReadFile(ctx context.Context, sandboxID, path string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error)
	StatFile(ctx context.Context, sandboxID, path string) (yurt.FileInfo, error)
	ListFiles(ctx context.Context, sandboxID, path string, options yurt.ListOptions) (yurt.FileList, error)
	MakeDir(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error)
	MoveFile(ctx context.Context, sandboxID, from, to string, replace bool) (yurt.FileInfo, error)
	ChmodFile(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error)
	RemoveFile(ctx context.Context, sandboxID, path string, all bool) error
}

// Trees is the part of a [Node] that reaches whole directories of workspaces.
type Trees interface {
	PackFiles(ctx context.Context, sandboxID, path string, to io.Writer) error
	UnpackFiles(ctx context.Context, sandboxID, path string, archive io.Reader) (yurt.Unpacked, error)
	WatchFiles(ctx context.Context, sandboxID, path string, deep bool, ready func(), each func(yurt.FileEvent) error) error
}
