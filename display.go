package yurt

import (
	"encoding/json"
	"time"
)

// Bounds of the displays of an execution in a context. Displays beyond them are left out and
// reported.
const (
	MaxDisplays     = 256
	MaxDisplayBytes = 16 << 20 // of all displays of an execution together
)

// Display is one thing that an execution showed, in as many MIME types as it has: a
// Jupyter MIME bundle. Text and, in base64, images are JSON strings; types that end in
// "json" hold a value.
type Display map[string]json.RawMessage

// DisplayEvent is a display as a watcher is told of it.
type DisplayEvent struct {
	Data Display `json:"data"`
	// Main says that it is the value of the last expression.
	Main bool `json:"main,omitempty"`
	// ID names a display that may be updated; with Update this display replaces the one that had
	// the ID before.
	ID     string `json:"display_id,omitempty"`
	Update bool   `json:"update,omitempty"`
	// Clear removes the execution's earlier displays from its result; this display takes their
	// place, if it has any data. Output stays.
	Clear bool `json:"clear,omitempty"`
	// Cut says that types of it were left out, for they were too large.
	Cut bool `json:"cut,omitempty"`
}

// DefaultContext is the context of code that names no context, in a persistent session.
const DefaultContext = "default"

// MaxContexts bounds the contexts that a sandbox has at once.
const MaxContexts = 16

// ContextState is the state of a context's interpreter.
type ContextState string

// The states of a context.
const (
	ContextIdle    ContextState = "idle"
	ContextBusy    ContextState = "busy"
	ContextStopped ContextState = "stopped" // its interpreter ended; the next execution gets a fresh one
)

// Context is a place in a session where variables, imports and the working directory
// last from one execution to the next: an interpreter of its own.
type Context struct {
	Name       string       `json:"name"`
	Language   string       `json:"language"`
	State      ContextState `json:"state"`
	Queued     int          `json:"queued"`     // executions that wait for their turn
	Executions int          `json:"executions"` // begun by the interpreter that runs now
	CreatedAt  time.Time    `json:"created_at"`
}
