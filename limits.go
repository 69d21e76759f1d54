package yurt

import (
	"cmp"
	"time"
)

// Defaults and bounds of the values that a user may ask for. FEATURES of the same name in the
// documentation quote these constants.
const (
	DefaultExecutionTimeout = 300 * time.Second
	MaxExecutionTimeout     = 3600 * time.Second
	MinExecutionTimeout     = time.Millisecond

	DefaultIdleTimeout = 30 * time.Minute
	DefaultLifetime    = 6 * time.Hour
	MinSessionTimeout  = time.Second
	MaxSessionTimeout  = 7 * 24 * time.Hour

	// ResultQuota is how many bytes of results are kept of a session, and ResultSpace of all sessions.
	ResultQuota = 256 << 20
	ResultSpace = 4 << 30
	// ResultRetention is how long results outlive their session.
	ResultRetention = 24 * time.Hour

	// DefaultOutputLimit caps each of stdout and stderr of an execution, in bytes.
	DefaultOutputLimit = 8 << 20
	// MaxResultBytes caps the JSON value that a handler returns, or that the last expression of
	// code has; for the latter the output limit of the execution counts where it is lower.
	MaxResultBytes = 8 << 20

	MaxCodeBytes  = 4 << 20  // source text of one execution
	MaxFiles      = 256      // given with one execution, or with a session
	MaxFilesBytes = 16 << 20 // of all of them together
	MaxStdinBytes = 16 << 20 // stdin given with the request
	MaxEventBytes = 6 << 20  // event of a handler: AWS Lambda's own limit for a synchronous call
	MaxFileBytes  = 16 << 30 // one file through the file API; a smaller workspace holds less
	MaxPathBytes  = 4096
	MaxFileDepth  = 128  // directories in directories, so that a walk of them is bounded
	MaxListFiles  = 1000 // entries a page
	MaxWatchDirs  = 1024 // directories that one watch takes in
	MaxEnvCount   = 256
	MaxEnvBytes   = 128 << 10 // names and values together
	MaxArgs       = 4096
	MaxArgBytes   = 128 << 10 // one argument; Linux refuses longer ones
	MaxArgsBytes  = 512 << 10 // all arguments together
	MaxMetadata   = 64        // entries
)

// Bounds of an archive, in or out.
const (
	MaxArchiveEntries = 200_000
	MaxArchiveBytes   = 64 << 30 // of the files in it
)

// Resources are the limits of one sandbox. A zero field means "the default".
type Resources struct {
	CPU    float64 `json:"cpu"`    // cores
	Memory Size    `json:"memory"` // bytes; the workspace counts towards it where it is held in memory
	Disk   Size    `json:"disk"`   // bytes of /workspace
	PIDs   int     `json:"pids"`   // processes and threads

	DiskKind DiskKind `json:"disk_kind,omitempty"` // the storage of /workspace
	IOWeight int      `json:"io_weight,omitempty"` // share of the disks' time beside other sandboxes
	Ulimits  Ulimits  `json:"ulimits,omitzero"`
}

// DiskKind is the storage that holds a workspace. The zero value is [DiskMemory].
type DiskKind string

// The kinds of disks.
const (
	DiskMemory DiskKind = "memory" // a file system in memory, which counts towards its limit
	DiskImage  DiskKind = "image"  // a file system in a file of the node's disk
	DiskQuota  DiskKind = "quota"  // a directory on the node's disk, which a project quota bounds
)

// Ulimits are those of setrlimit(2) for each process. A zero field means the node's own.
type Ulimits struct {
	NoFile int  `json:"nofile,omitempty"` // open files
	FSize  Size `json:"fsize,omitempty"`  // bytes of a file that it writes
	Stack  Size `json:"stack,omitempty"`  // bytes of the main thread's stack
}

// Bounds of [Resources]. A node may have less.
const (
	MinCPU    = 0.01
	MaxCPU    = 512
	MinMemory = 16 << 20
	MaxMemory = 4 << 40
	MinDisk   = 1 << 20
	MaxDisk   = 4 << 40
	MinPIDs   = 4
	MaxPIDs   = 65536

	MinIOWeight     = 1
	DefaultIOWeight = 100 // of a sandbox that asks for no weight
	MaxIOWeight     = 1000
	MinDiskImage    = 8 << 20 // less holds no file system

	MinNoFile = 64 // less starts no interpreter
	MaxNoFile = 1 << 20
	MinFSize  = 64 << 10
	MaxFSize  = MaxDisk
	MinStack  = 256 << 10
	MaxStack  = 1 << 30
)

// DefaultResources returns the resources of a template that names no resources.
func DefaultResources() Resources {
	return Resources{CPU: 1, Memory: 512 << 20, Disk: 256 << 20, PIDs: 256}
}

// Or returns r with those fields that are zero taken from fallback.
func (r Resources) Or(fallback Resources) Resources {
	return Resources{
		CPU: cmp.Or(r.CPU, fallback.CPU), Memory: cmp.Or(r.Memory, fallback.Memory),
		Disk: cmp.Or(r.Disk, fallback.Disk), PIDs: cmp.Or(r.PIDs, fallback.PIDs),
		DiskKind: cmp.Or(r.DiskKind, fallback.DiskKind), IOWeight: cmp.Or(r.IOWeight, fallback.IOWeight),
		Ulimits: Ulimits{
			NoFile: cmp.Or(r.Ulimits.NoFile, fallback.Ulimits.NoFile), FSize: cmp.Or(r.Ulimits.FSize, fallback.Ulimits.FSize),
			Stack: cmp.Or(r.Ulimits.Stack, fallback.Ulimits.Stack),
		},
	}
}

// OnDisk reports whether the workspace is on the node's disk, not in memory.
func (r Resources) OnDisk() bool { return r.DiskKind == DiskImage || r.DiskKind == DiskQuota }

// Validate checks every field that is not zero against its bounds. field is the
// path that errors name, such as "resources".
func (r Resources) Validate(field string) error {
	switch {
	case r.CPU != 0 && !(r.CPU >= MinCPU && r.CPU <= MaxCPU): // also false for NaN
		return FieldErrorf(CodeLimitOutOfRange, field+".cpu", "%v cores is out of range; give %v to %v", r.CPU, MinCPU, MaxCPU)
	case r.Memory != 0 && (r.Memory < MinMemory || r.Memory > MaxMemory):
		return FieldErrorf(CodeLimitOutOfRange, field+".memory", "%s is out of range; give %s to %s", r.Memory, Size(MinMemory), Size(MaxMemory))
	case r.Disk != 0 && (r.Disk < MinDisk || r.Disk > MaxDisk):
		return FieldErrorf(CodeLimitOutOfRange, field+".disk", "%s is out of range; give %s to %s", r.Disk, Size(MinDisk), Size(MaxDisk))
	case r.PIDs != 0 && (r.PIDs < MinPIDs || r.PIDs > MaxPIDs):
		return FieldErrorf(CodeLimitOutOfRange, field+".pids", "%d is out of range; give %d to %d", r.PIDs, MinPIDs, MaxPIDs)
	}
	if err := r.validateDisks(field); err != nil {
		return err
	}
	return r.Ulimits.Validate(field + ".ulimits")
}

func (r Resources) validateDisks(field string) error {
	if r.IOWeight != 0 && (r.IOWeight < MinIOWeight || r.IOWeight > MaxIOWeight) {
		return FieldErrorf(CodeLimitOutOfRange, field+".io_weight", "%d is out of range; give %d to %d", r.IOWeight, MinIOWeight, MaxIOWeight)
	}
	switch r.DiskKind {
	case "", DiskMemory, DiskQuota:
	case DiskImage:
		if r.Disk != 0 && r.Disk < MinDiskImage {
			return FieldErrorf(CodeLimitOutOfRange, field+".disk", "%s is too small for disk_kind %q; give %s or more", r.Disk, DiskImage, Size(MinDiskImage))
		}
	default:
		return FieldErrorf(CodeInvalidArgument, field+".disk_kind", "%q is no kind of disk; give %q, %q or %q", r.DiskKind, DiskMemory, DiskImage, DiskQuota)
	}
	return nil
}

// Validate checks every field that is not zero against its bounds.
func (u Ulimits) Validate(field string) error {
	switch {
	case u.NoFile != 0 && (u.NoFile < MinNoFile || u.NoFile > MaxNoFile):
		return FieldErrorf(CodeLimitOutOfRange, field+".nofile", "%d is out of range; give %d to %d", u.NoFile, MinNoFile, MaxNoFile)
	case u.FSize != 0 && (u.FSize < MinFSize || u.FSize > MaxFSize):
		return FieldErrorf(CodeLimitOutOfRange, field+".fsize", "%s is out of range; give %s to %s", u.FSize, Size(MinFSize), Size(MaxFSize))
	case u.Stack != 0 && (u.Stack < MinStack || u.Stack > MaxStack):
		return FieldErrorf(CodeLimitOutOfRange, field+".stack", "%s is out of range; give %s to %s", u.Stack, Size(MinStack), Size(MaxStack))
	}
	return nil
}
