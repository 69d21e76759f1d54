package yurt

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// SandboxSpec is everything a node needs to make a sandbox.
type SandboxSpec struct {
	ID        string            `json:"id"`
	Template  Template          `json:"template"`
	Resources Resources         `json:"resources"` // its first four fields are not zero
	Env       map[string]string `json:"env,omitempty"`
	Files     []SourceFile      `json:"files,omitempty"`  // written to the workspace before anybody has it; kept there alone
	Labels    map[string]string `json:"labels,omitempty"` // kept with the sandbox, for its owner to find it again
	Share     string            `json:"share,omitempty"`  // requests with different ones take turns where they wait
	Host      *HostAccess       `json:"host,omitempty"`   // for callers on the node itself
}

// Limits returns the limits of the sandbox: its own, and those of its template where it names no
// limit.
func (s SandboxSpec) Limits() Resources { return s.Resources.Or(s.Template.Resources) }

// Rebindable reports whether a sandbox that was made with the limits had, of the template of s and
// ahead of s, can be given those of s instead. Ulimits, a share of the disks and the kind of disk
// are for good, and so are the sizes of anything but a file system in memory that is mounted.
func (s SandboxSpec) Rebindable(had Resources) bool {
	had, want := had.Or(s.Template.Resources), s.Limits()
	if cmp.Or(had.DiskKind, DiskMemory) != cmp.Or(want.DiskKind, DiskMemory) || had.IOWeight != want.IOWeight || had.Ulimits != want.Ulimits {
		return false
	}
	fixed := want.OnDisk() || s.Template.Isolation.PerExecution
	return !fixed || had.Disk == want.Disk && had.Memory == want.Memory
}

// Warmable reports whether a sandbox that was made of the template alone can become the requested
// one.
func (s SandboxSpec) Warmable() bool {
	return s.Rebindable(s.Template.Resources.Or(DefaultResources()))
}

// SandboxState is where a sandbox is in its life, as its node sees it.
type SandboxState string

// The states of a sandbox.
const (
	SandboxReady  SandboxState = "ready"
	SandboxPaused SandboxState = "paused" // its processes are frozen
	SandboxDead   SandboxState = "dead"   // its init is gone; Reason says why
)

// Sandbox is a node's description of one of its sandboxes.
type Sandbox struct {
	ID        string             `json:"id"`
	Template  string             `json:"template"`
	Node      string             `json:"node"`
	State     SandboxState       `json:"state"`
	Reason    string             `json:"reason,omitempty"`
	PID       int                `json:"pid"` // of its init, on the host
	CreatedAt time.Time          `json:"created_at"`
	Labels    map[string]string  `json:"labels,omitempty"`
	Phases    map[string]float64 `json:"phases_ms,omitempty"` // milliseconds that each phase of its making took, or of its claim
	Warm      bool               `json:"warm,omitempty"`      // in the node's reserve: no session has it yet
	Slot      string             `json:"slot,omitempty"`      // that it is in
}

// Reserve is how many sandboxes of a template a node has ready to be claimed.
type Reserve struct {
	Template string `json:"template"`
	Digest   string `json:"digest"` // of the template
	Ready    int    `json:"ready"`
}

// RuntimeInfo describes an installed language runtime.
type RuntimeInfo struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Languages  []string `json:"languages"`         // names and aliases, such as "python", "py"
	Extensions []string `json:"extensions"`        // of source files, such as ".py"
	Abilities  []string `json:"abilities"`         // "code", "handler", "project", "dependencies"
	Tools      []Tool   `json:"tools"`             // the tools that it needs in a template
	Kernels    []string `json:"kernels,omitempty"` // the interpreters for contexts that a template can choose in place of its own
	// HostPaths are files and directories of the host, beside [DefaultHostPaths], that the
	// toolchain needs. A template that takes its files from the host and names the runtime
	// has those of them that are there and that the operator offers.
	HostPaths []string `json:"host_paths,omitempty"`
	// Path lists directories of the toolchain's commands. Where such a template binds one, it
	// is at the end of PATH.
	Path []string `json:"path,omitempty"`
}

// ValidateKernel checks that contexts of the runtime can have the kernel that a template
// chooses; an empty name and [OwnKernel] are the runtime's own.
func (r RuntimeInfo) ValidateKernel(field, name string) error {
	if name == "" || name == OwnKernel || slices.Contains(r.Kernels, name) {
		return nil
	}
	instead := "take it away"
	if len(r.Kernels) > 0 {
		instead = "give " + strings.Join(r.Kernels, ", ") + " or " + OwnKernel + ", or take it away"
	}
	return FieldErrorf(CodeNotSupported, field, "runtime %s has no kernel %q, which the template chooses; %s for the runtime's own", r.Name, name, instead)
}

// Tool is a program that a language runtime needs inside a sandbox.
type Tool struct {
	Name     string   `json:"name"`     // such as "node"
	Paths    []string `json:"paths"`    // where it may be; the first one that is there is taken
	Install  string   `json:"install"`  // the command or step that installs it
	Optional bool     `json:"optional"` // some runs do without
}

// SandboxStats are the resources that a sandbox uses, and its limits.
type SandboxStats struct {
	At               time.Time `json:"at"`
	CPUSeconds       float64   `json:"cpu_seconds"` // since it was made
	CPULimit         float64   `json:"cpu_limit"`   // cores
	MemoryBytes      int64     `json:"memory_bytes"`
	MemoryPeakBytes  int64     `json:"memory_peak_bytes"` // 0 where the kernel does not say
	MemoryLimitBytes int64     `json:"memory_limit_bytes"`
	PIDs             int       `json:"pids"` // processes and threads
	PIDsLimit        int       `json:"pids_limit"`
	DiskBytes        int64     `json:"disk_bytes"` // of the workspace
	DiskLimitBytes   int64     `json:"disk_limit_bytes"`
	// Of block devices. 0 where the kernel does not say: with cgroup version 1 from Linux 6.10 on, or without an io_weight.
	IOReadBytes    int64 `json:"io_read_bytes"`
	IOWriteBytes   int64 `json:"io_write_bytes"`
	NetworkRxBytes int64 `json:"network_rx_bytes"` // of all interfaces but the loopback
	NetworkTxBytes int64 `json:"network_tx_bytes"`
}

// SandboxHealth tells whether a sandbox works, and its use of its limits.
type SandboxHealth struct {
	At          time.Time    `json:"at"`
	State       SandboxState `json:"state"`
	Reason      string       `json:"reason,omitempty"`  // of a dead sandbox
	InitAnswers bool         `json:"init_answers"`      // its first process, which starts and reaps all others
	InitMS      float64      `json:"init_ms,omitempty"` // milliseconds until it answered
	// OOMKills counts the processes of the sandbox that the kernel has ended because its memory ran out.
	OOMKills int64         `json:"oom_kills"`
	Usage    *SandboxStats `json:"usage,omitempty"` // not of a dead sandbox
}

// Process is a process in a sandbox.
type Process struct {
	PID         int      `json:"pid"` // inside the sandbox
	ParentPID   int      `json:"parent_pid"`
	ExecutionID string   `json:"execution_id"` // it was started by, which may have ended
	Name        string   `json:"name"`
	Args        []string `json:"args"` // at most the first 4096 bytes of them
	State       string   `json:"state"`
	MemoryBytes int64    `json:"memory_bytes"` // resident
}
