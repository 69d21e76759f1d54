package broker

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// RunCgroups is the requests about the cgroups of single runs: executions, interpreters and their zygotes. Each names a sandbox and a run in
// it. A request for a sandbox that is not on this node fails with [yurt.CodeSandboxNotFound], one for a run that is not in that
// sandbox with [yurt.CodeExecutionNotFound], see [Missing].
type RunCgroups interface {
	// NewRun makes the cgroup of a run. [RunCgroups.EndRun] removes it.
	NewRun(sandboxID string, request RunRequest) (Run, error)
	// NameRun gives the cgroup of a new run the name by which a later broker finds it. The caller asks for it while the run's first
	// process is born, and once more when it takes over a run that had begun.
	NameRun(sandboxID, runID string) error
	// OpenRun opens the usage of a run that was made earlier. The caller closes it.
	OpenRun(sandboxID, runID string) (*Meter, error)
	// KillRun ends every process of the run, however it tries to get away. It returns when all have ended.
	KillRun(ctx context.Context, sandboxID, runID string) error
	// EndRun removes the cgroup of a run that has ended. Processes that the run left behind keep it until they have ended too. It
	// returns the files of the sandbox's next run, whose cgroup it makes ahead. There is no file while others run, if the
	// caller has those of another already, or if the cgroup cannot be made now. The run is entered by a [RunRequest] that says Ahead.
	EndRun(sandboxID, runID string) (Run, error)

	// NewPlace makes a cgroup ahead, for a process that waits to become a run's, and returns the file that moves a process there.
	// The caller closes it. On cgroup v1, where there is no need, it fails with [errors.ErrUnsupported].
	NewPlace(sandboxID, place string) (*os.File, error)
	// EndPlace ends the processes in a place that no run has used, and removes it. No run can take it once EndPlace has begun.
	EndPlace(ctx context.Context, sandboxID, place string) error

	// Gauge reads the usage and the processes of a sandbox. It changes no cgroup.
	Gauge(sandboxID string) (Gauge, error)
	// WatchMemory returns an alarm that goes off when the runs of a sandbox have no memory left. The caller closes it.
	WatchMemory(sandboxID string) (Alarm, error)
}

// The values of the answers are those of executor/cgroup.
type (
	// Alarm goes off when memory is short.
	Alarm = cgroup.Alarm
	// Gauge reads the usage of a sandbox.
	Gauge = cgroup.Gauge
	// Limits are those of a sandbox's cgroup.
	Limits = cgroup.Limits
	// Meter reads the usage of a run.
	Meter = cgroup.Meter
	// Usage is what a run has used so far.
	Usage = cgroup.Usage
)

// RunRequest describes a new run.
type RunRequest struct {
	ID    string
	Place string // that it takes; "" for a cgroup of its own
	// Ahead says that the run begins in the cgroup that was made ahead, whose files the caller has. The run gets no others. The caller
	// asks while the run's first process is born; the cgroup has its name afterwards.
	Ahead bool
}

// Run is the files of a new run. The caller closes them.
type Run struct {
	Birth []*os.File // by which init has its processes born in the cgroup
	Usage *Meter
}

// CloseBirth closes the files of the birth, and not the usage.
func (r Run) CloseBirth() { descriptor.CloseAll(r.Birth) }

// Files returns all files in their order: those of the birth, and those of the usage. They stay the run's.
func (r Run) Files() []*os.File {
	if r.Usage == nil {
		return r.Birth
	}
	return slices.Concat(r.Birth, r.Usage.Files())
}

// Close closes all files.
func (r Run) Close() {
	r.CloseBirth()
	r.Usage.Close()
}

// ZygotePrefix begins the ids of zygotes and places.
const ZygotePrefix = "zygote-"

// maxRunID bounds the id of a run, in bytes.
const maxRunID = 128

// checkRun refuses ids that are not those of an execution, an interpreter, a zygote or a place. The others could be paths, control
// files, or the cgroup that is made ahead.
func checkRun(id string) error {
	for _, prefix := range []string{yurt.ExecutionIDPrefix, yurt.KernelIDPrefix, ZygotePrefix} {
		if rest, ok := strings.CutPrefix(id, prefix); ok && rest != "" && len(id) <= maxRunID && strings.Trim(rest, runCharacters) == "" {
			return nil
		}
	}
	return yurt.FieldErrorf(yurt.CodeInvalidArgument, "execution_id", "%.200q is no id of a run; an id begins with %q, %q or %q and has at most %d letters, digits, +, #, -, _ and .",
		id, yurt.ExecutionIDPrefix, yurt.KernelIDPrefix, ZygotePrefix, maxRunID)
}

// runCharacters are those of random ids and of the names of languages.
const runCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#-_."

// Missing reports whether an error says that the sandbox or the run of a request is gone.
func Missing(err error) bool {
	code := yurt.CodeOf(err)
	return code == yurt.CodeSandboxNotFound || code == yurt.CodeExecutionNotFound
}
