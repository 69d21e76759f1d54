package plugins

import (
	"context"
	"io/fs"

	"github.com/yurtrun/yurt"
)

// Runtime plans how code of a language is run. It never runs user code itself:
// its plans are carried out inside a sandbox.
type Runtime interface {
	// Describe says what the runtime is and can do. The answer never changes
	// while the runtime lives.
	Describe(ctx context.Context) (yurt.RuntimeInfo, error)
	// Plan says how to run one piece of code. It must be quick, free of side
	// effects, and the same for the same request.
	Plan(ctx context.Context, req PlanRequest) (Plan, error)
}

// PlanRequest asks how to run code or a handler.
type PlanRequest struct {
	ExecutionID string
	Kind        yurt.ExecutionKind // [yurt.KindCode] or [yurt.KindHandler]
	Language    string
	Code        string
	Handler     string // name of the function
	Event       []byte // JSON
	Context     []byte // JSON object whose fields override the handler's context; may be empty
	Dir         string // directory of this execution inside the sandbox, absolute; Plan.Files go there
	Timeout     yurt.Duration
	MemoryLimit yurt.Size
}

// Plan says what to do in the sandbox.
type Plan struct {
	Files  []File            // written before the command starts
	Argv   []string          // the command; never empty
	Env    map[string]string // added to the sandbox's environment, below the user's
	Result ResultFormat
}

// File is one file of a plan.
type File struct {
	Path string // relative to PlanRequest.Dir, with slashes, never leading out of it
	Data []byte
	Mode fs.FileMode
}

// ResultFormat says how a run hands over its result.
type ResultFormat string

const (
	// ResultNone: the exit code and the output are all there is.
	ResultNone ResultFormat = ""
	// ResultEnvelope: the run writes one JSON object to descriptor [ResultFD],
	// {"result": value} or {"error": {"type", "message", "stacktrace": [lines]}}.
	ResultEnvelope ResultFormat = "envelope"
)

// ResultFD is the descriptor that a run with [ResultEnvelope] writes to.
const ResultFD = 3
