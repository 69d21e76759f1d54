package run

import (
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/plugins"
)

// Record is the description of an execution on disk, the first entry of its log.
type Record struct {
	Version int                `json:"version"`
	ID      string             `json:"id"`
	Kind    yurt.ExecutionKind `json:"kind"`
	PlanRecord
	Limit    yurt.Size     `json:"output_limit"`
	Timeout  yurt.Duration `json:"timeout"`
	Deadline time.Time     `json:"deadline"` // until the log says when its process began; see Sandbox.timeLeft for pauses
	// PausedBefore is how long the sandbox had been paused when the run began.
	PausedBefore time.Duration `json:"paused_before,omitempty"`
	// Layer is set when the run began with an installation: there is no process before that
	// is over.
	Layer string `json:"layer,omitempty"`
	// Cell is set for an execution in a context: all of it, as it may have to wait for
	// its turn for longer than this executor lives.
	Cell *yurt.ExecutionSpec `json:"cell,omitempty"`
	// Endless says that it has no deadline, and its output goes to Logs or nowhere.
	Endless bool           `json:"endless,omitempty"`
	Logs    *yurt.LogFiles `json:"logs,omitempty"`
	// Streamed says that it has no deadline, and its output goes to its watcher alone.
	Streamed bool `json:"streamed,omitempty"`
	// Installer names the package manager that it asks for packages.
	Installer string `json:"installer,omitempty"`
}

// Unlimited reports whether neither its time nor its output is bounded.
func (r *Record) Unlimited() bool { return r.Endless || r.Streamed }

// PlanRecord is the part of a plan that an executor needs to read how the execution ended.
type PlanRecord struct {
	Format    plugins.ResultFormat `json:"format"`
	Language  string               `json:"language,omitempty"`
	Interpret bool                 `json:"interpret,omitempty"`
	Compiles  int                  `json:"compiles,omitempty"` // steps before the run
	Root      string               `json:"root,omitempty"`
	Entry     string               `json:"entry,omitempty"`
	Inserted  *steps.Insertion     `json:"inserted,omitempty"` // into the user's code
}
