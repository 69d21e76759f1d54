package yurt

import (
	"encoding/json"
	"strings"
	"time"
)

// ExecutionKind is the form of the program that an execution runs.
type ExecutionKind string

// The kinds of execution.
const (
	KindCode    ExecutionKind = "code"    // source text in a language
	KindCommand ExecutionKind = "command" // argv or a shell line
	KindHandler ExecutionKind = "handler" // a Lambda-style handler, called with an event
)

// ExecutionState is where an execution is in its life.
type ExecutionState string

// The states of an execution.
const (
	ExecutionPending   ExecutionState = "pending"
	ExecutionRunning   ExecutionState = "running"
	ExecutionSucceeded ExecutionState = "succeeded" // exit code 0 and no error
	ExecutionFailed    ExecutionState = "failed"
)

// Ended reports whether the result is there.
func (s ExecutionState) Ended() bool { return s == ExecutionSucceeded || s == ExecutionFailed }

// ExecutionSpec is everything a node needs to run something in a sandbox.
type ExecutionSpec struct {
	ID       string        `json:"id"`
	Kind     ExecutionKind `json:"kind"`
	Language string        `json:"language,omitempty"` // of code and handler
	Code     string        `json:"code,omitempty"`     // source text of code and handler
	// Handler is the name of the function that is called with the event. Of code it is called
	// only if the code just defines things, and it among them; empty is plain code.
	Handler string          `json:"handler,omitempty"`
	Event   json.RawMessage `json:"event,omitempty"`
	Context json.RawMessage `json:"context,omitempty"` // fields that override the handler's context
	// ContextName is the context that code runs in; empty for a fresh interpreter.
	ContextName string `json:"context_name,omitempty"`
	// ContextOptional lets a language that keeps no state run the code all the same. Of a
	// handler it says that its process may stay for the next invocation.
	ContextOptional bool         `json:"context_optional,omitempty"`
	Command         []string     `json:"command,omitempty"` // argv
	Files           []SourceFile `json:"files,omitempty"`   // written to the working directory first
	Entry           string       `json:"entry,omitempty"`   // file to run, relative to Cwd, in place of Code
	Args            []string     `json:"args,omitempty"`    // of the code's program
	// Dependencies are packages that the code needs, as the package manager of its language
	// writes them. They are installed before it runs, if they are not there already.
	Dependencies []string          `json:"dependencies,omitempty"`
	Stdin        []byte            `json:"stdin,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Cwd          string            `json:"cwd,omitempty"`        // default /workspace
	StdinOpen    bool              `json:"stdin_open,omitempty"` // more may come after Stdin, while it runs
	Terminal     *TerminalSize     `json:"tty,omitempty"`        // stdin, which is open, stdout and stderr are a terminal
	Timeout      Duration          `json:"timeout"`
	OutputLimit  Size              `json:"output_limit"` // of each stream, in bytes

	// The fields below are for callers on the node itself, such as Nomad's driver.

	// Endless runs it with neither a timeout nor a limit of output. Its output is in neither its
	// result nor its events: it goes to Logs, or is dropped.
	Endless bool `json:"endless,omitempty"`
	// Streamed runs it without those bounds too, for one watcher. Its output is not kept: its
	// writes block until the watcher has taken the earlier output, and the execution ends when its
	// watcher goes.
	Streamed bool      `json:"streamed,omitempty"`
	Logs     *LogFiles `json:"logs,omitempty"`
	User     *User     `json:"user,omitempty"` // whom it runs as, inside; nil for the user that all run as
}

// OnDisconnect is the fate of an execution when the client that waits for it, or that reads its
// stream, goes away before it has ended.
type OnDisconnect string

// The fates of an execution whose client has gone.
const (
	DisconnectContinue  OnDisconnect = "continue"  // it goes on, as without a word
	DisconnectInterrupt OnDisconnect = "interrupt" // it is interrupted, and killed if it has not ended five seconds later
)

// Validate returns an error for a value that is neither empty nor one of the above. field is its name.
func (d OnDisconnect) Validate(field string) error {
	switch d {
	case "", DisconnectContinue, DisconnectInterrupt:
		return nil
	default:
		return FieldErrorf(CodeInvalidArgument, field, "%.40q is not allowed; give %q or %q", d, DisconnectContinue, DisconnectInterrupt)
	}
}

// SourceFile is one file of a project, or one that a session begins with.
type SourceFile struct {
	Path string `json:"path"` // relative to the working directory, or to the workspace
	Data []byte `json:"data"`
}

// Execution is the record of one run.
type Execution struct {
	ID        string         `json:"id"`
	SessionID string         `json:"session_id"`
	Kind      ExecutionKind  `json:"kind"`
	Language  string         `json:"language,omitempty"`
	State     ExecutionState `json:"state"`
	Owner     string         `json:"-"` // controller that follows it to its end
	CreatedAt time.Time      `json:"created_at"`
	Result    *Result        `json:"result,omitempty"` // set when State has ended
}

// Result is the outcome of an execution.
type Result struct {
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"` // empty where Output is not nil
	Stderr   string `json:"stderr"`
	// Result is the handler's return value, or the value of the last expression of code where JSON
	// can say the same. It is null otherwise, and where Truncated says so.
	Result json.RawMessage `json:"result"`
	// Handler is the function whose return value Result is, of code that was taken for a handler.
	Handler   string          `json:"handler,omitempty"`
	Error     *ExecutionError `json:"error"`
	Metrics   Metrics         `json:"metrics"`
	Artifacts []Artifact      `json:"artifacts"`
	Truncated Truncated       `json:"truncated"`
	// Displays are the displays of an execution in a context, the value of its last expression
	// among them.
	Displays []Display `json:"results,omitempty"`
	// MainDisplay is the index in Displays of the value of the last expression.
	MainDisplay *int `json:"main_result,omitempty"`
	// ExecutionCount is the number of an execution in a context among those of its interpreter, as
	// a notebook shows it: 1 for the first, and for the first after a restart. It is 0 without a
	// context, and where the interpreter ended before it said so.
	ExecutionCount int `json:"execution_count,omitempty" minimum:"1" maximum:"2147483647" doc:"Number of the execution in its context's interpreter: 1 for the first, also after a restart. Absent without a context, and if the interpreter ended before it reported the number."`
	// KernelRestarted says that the context's interpreter was a fresh one, because the one of the
	// execution before had ended: all earlier state is gone.
	KernelRestarted bool `json:"kernel_restarted,omitempty"`
	// StateLost says that the context's interpreter ended with this execution.
	StateLost bool      `json:"state_lost,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Outline says which events there were; nil where that is not known. See [KeptResult].
	Outline Outline `json:"-"`
	// Output has the text of both streams where it is too large to be in Stdout and Stderr.
	Output *Output `json:"-"`
}

// Types of [ExecutionError] that Yurt itself gives. Anything else is the name of
// an exception in the user's language.
const (
	ErrorTypeTimeout            = "ExecutionTimeout"
	ErrorTypeOutOfMemory        = "OutOfMemory"
	ErrorTypeSyntax             = "SyntaxError"
	ErrorTypeCompile            = "CompileError" // the compiler refused the code; no code ran
	ErrorTypeHandlerNotFound    = "HandlerNotFound"
	ErrorTypeNotSerializable    = "ResultNotSerializable"
	ErrorTypeResultTooLarge     = "ResultTooLarge"
	ErrorTypeCommandNotFound    = "CommandNotFound"
	ErrorTypeSignaled           = "Signaled"      // killed by a signal that Yurt did not send
	ErrorTypeSandboxLost        = "SandboxLost"   // the sandbox or its node went away
	ErrorTypeSessionEnded       = "SessionEnded"  // the session was ended while it ran
	ErrorTypeNonZeroExit        = "NonZeroExit"   // only where the caller needs an error; a plain command has no error
	ErrorTypeSandboxFailed      = "SandboxFailed" // the run could not be started
	ErrorTypeRuntimeUnavailable = "RuntimeUnavailable"
	ErrorTypeKernelDied         = "KernelDied" // the interpreter of a context ended
	ErrorTypeInterrupted        = "KeyboardInterrupt"
	ErrorTypeDependency         = "DependencyFailed" // packages could not be installed; no code ran
)

// Exit codes that Yurt itself gives to an execution.
const (
	ExecutionExitTimeout = 124 // as timeout(1)
	ExecutionExitSignal  = 128 // plus the number of the signal, as a shell does
)

// ExecutionError says why an execution failed.
type ExecutionError struct {
	Type       string   `json:"type"`
	Message    string   `json:"message"`
	Stacktrace []string `json:"stacktrace"` // the user's lines alone, outermost first
}

// Metrics are the times and resources that an execution used.
type Metrics struct {
	DurationMS      float64            `json:"duration_ms"`
	CPUMS           float64            `json:"cpu_ms"`
	MemoryPeakBytes int64              `json:"memory_peak_bytes"`
	StdoutBytes     int64              `json:"stdout_bytes"` // written by the program, also beyond the cap
	StderrBytes     int64              `json:"stderr_bytes"`
	Phases          map[string]float64 `json:"phases_ms,omitempty"` // milliseconds by phase
}

// Artifact is a file that an execution produced for its caller.
type Artifact struct {
	Path     string `json:"path"`
	MIMEType string `json:"mime_type"`
	Size     int64  `json:"size"`
}

// Truncated says which streams were cut at their cap, and which other parts were left out.
type Truncated struct {
	Stdout  bool `json:"stdout"`
	Stderr  bool `json:"stderr"`
	Results bool `json:"results,omitempty"` // some of the displays
	Result  bool `json:"result,omitempty"`  // the value, which is null because it is larger than its cap
}

// State returns the state that an execution with this result is in.
func (r *Result) State() ExecutionState {
	if r.ExitCode == 0 && r.Error == nil {
		return ExecutionSucceeded
	}
	return ExecutionFailed
}

// CLIExitCode maps the result to an exit code of the command line.
func (r *Result) CLIExitCode() int {
	if r.Error == nil {
		if r.ExitCode == 0 {
			return ExitOK
		}
		return ExitError
	}
	switch r.Error.Type {
	case ErrorTypeTimeout:
		return ExitTimeout
	case ErrorTypeSyntax, ErrorTypeCompile, ErrorTypeHandlerNotFound, "IndentationError", "TabError",
		"Runtime.UserCodeSyntaxError", "Runtime.HandlerNotFound", "Runtime.MalformedHandlerName": // of Lambda's runtime clients
		return ExitSyntax
	case ErrorTypeSandboxLost, ErrorTypeSandboxFailed, ErrorTypeRuntimeUnavailable:
		return ExitSandboxFailed
	default:
		return ExitError
	}
}

// EventType names a kind of [Event].
type EventType string

// The types of event, in the order in which an execution has them: one started,
// any number of stdout, stderr, display and response, one ended.
const (
	EventStarted EventType = "started"
	EventStdout  EventType = "stdout"
	EventStderr  EventType = "stderr"
	EventDisplay EventType = "display" // among the output, of an execution in a context
	// EventResponse is a piece of the response that a Lambda function streams, as it comes.
	// The result has all of it.
	EventResponse EventType = "response"
	// EventProgress comes before all output, while an execution waits: the output of the package
	// manager that installs its packages, and which other execution has its turn before it.
	EventProgress EventType = "progress"
	EventEnded    EventType = "ended"
	// EventGap takes the place of events that are not kept any more.
	EventGap EventType = "gap"
)

// Phase is a part of an execution before its code runs, which may take long in silence.
type Phase string

// The phases, in their order.
const (
	PhaseInstall Phase = "install" // the packages that it needs are installed
	PhaseCompile Phase = "compile" // its code is compiled
)

// Event is one step of an execution. Seq counts from 1, so a watcher that was cut off goes on after
// the last one it saw. An event keeps its number as long as the result is kept.
type Event struct {
	Seq       uint64        `json:"seq"`
	Type      EventType     `json:"type"`
	At        time.Time     `json:"at"`
	Data      []byte        `json:"-"`                   // output or response; never cut inside a UTF-8 character unless the output is not UTF-8
	Display   *DisplayEvent `json:"display,omitempty"`   // of display
	Result    *Result       `json:"result,omitempty"`    // of ended
	Gap       *Gap          `json:"gap,omitempty"`       // of gap
	Execution *Execution    `json:"execution,omitempty"` // of started, from the API: the record as it began
	Phases    []Phase       `json:"phases,omitempty"`    // of started: the steps before the code runs
}

// Bounds of the dependencies of an execution.
const (
	MaxDependencies    = 256
	MaxDependencyBytes = 1024 // of one
)

func (s *ExecutionSpec) validateDependencies() error {
	switch {
	case len(s.Dependencies) == 0:
		return nil
	case s.Kind == KindCommand:
		return FieldErrorf(CodeInvalidArgument, "dependencies", "only code in a language and Lambda functions have dependencies; a command brings its own, or takes what its template has")
	case s.Language == "":
		return FieldErrorf(CodeInvalidArgument, "language", "say of which language the dependencies are packages")
	}
	return ValidateDependencies("dependencies", s.Dependencies)
}

// ValidateDependencies checks a list of packages. The package manager judges their names, but a
// name may not begin with a dash: that would be an option.
func ValidateDependencies(field string, list []string) error {
	if len(list) > MaxDependencies {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d packages are too many; at most %d are allowed", len(list), MaxDependencies)
	}
	for _, dependency := range list {
		if err := validateText(field, dependency, MaxDependencyBytes); err != nil {
			return err
		}
		if clean := strings.TrimSpace(dependency); clean == "" || clean != dependency || clean[0] == '-' {
			return FieldErrorf(CodeInvalidArgument, field, "%.100q is no package: it is empty, begins with a dash, or has spaces around it; write it as its package manager does, such as numpy==2.1.0", dependency)
		}
	}
	return nil
}
