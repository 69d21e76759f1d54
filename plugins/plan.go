package plugins

import (
	"context"
	"io/fs"

	"github.com/yurtrun/yurt"
)

// Runtime plans how code of a language is run. It never runs user code itself:
// its plans are carried out inside a sandbox. A runtime may also be an
// [Interpreter] and a [DependencyPlanner].
type Runtime interface {
	// Describe returns the runtime's name, tools and abilities. The answer never changes while the
	// runtime lives.
	Describe(ctx context.Context) (yurt.RuntimeInfo, error)
	// Plan says how to run one piece of code. It must be quick, free of side
	// effects, and the same for the same request.
	Plan(ctx context.Context, req PlanRequest) (Plan, error)
}

// PlanRequest asks how to run code or a handler. The source is either Code, a
// snippet, or a project: files in Root, of which Entry is the one to run.
type PlanRequest struct {
	ExecutionID string
	Kind        yurt.ExecutionKind // [yurt.KindCode] or [yurt.KindHandler]
	Language    string
	Code        string
	Handler     string // name of the function
	Event       []byte // JSON
	Context     []byte // JSON object whose fields override the handler's context; may be empty
	// Dir is the directory of this execution inside the sandbox, absolute, where
	// Plan.Files go and which user code cannot change. A plan holds ExecutionID, Dir and
	// OutDir as they are, neither encoded nor cut: it is kept, and used for other
	// executions of the same code with theirs in place of these.
	Dir         string
	Timeout     yurt.Duration
	MemoryLimit yurt.Size

	// Files are those of the project that came with the request; Mode is not set. They are in Root
	// when the run begins, beside any other files there.
	Files []File
	Entry string   // relative to Root; empty: Code is the source
	Args  []string // of the program
	Root  string   // working directory of every step, absolute
	// OutDir and CacheDir are absolute, and user code can write to them. OutDir is this
	// execution's and gone after it; CacheDir is the language's and lasts as long as
	// the sandbox. Both exist when the plan has compile steps.
	OutDir   string
	CacheDir string
	Tools    map[string]string // absolute paths of the [yurt.Tool]s that are there, by name
	// Layer is the directory of the packages that were installed for this, as [DependencyPlan] left
	// them in its LayerDir, absolute and only read; empty without packages.
	Layer string
}

// Plan lists the work in the sandbox: write the files, carry out the compile steps one after the
// other, and, when all of them exited with 0, run Argv.
type Plan struct {
	Files     []File            // written before the first command starts
	Compile   []Step            // their output goes to the run's standard error
	Argv      []string          // the command; never empty
	Env       map[string]string // of every step, added to the sandbox's environment, below the user's
	Result    ResultFormat      // of Argv
	Interpret bool              // whether [Interpreter] is asked when Argv fails and hands over no error
	Inserted  *Insertion        // into the user's code; nil without one
}

// Insertion is text that a plan has put into a line of the user's code, such as the head of a main
// function. The output of the compile steps, also as the [Interpreter] reads it, is rewritten as if the
// text were not there.
type Insertion struct {
	File   string // as compilers name it, less its directory
	Line   int    // from 1
	Column int    // of the beginning of the text, in characters from 1
	Text   string // within one line
}

// Step is a command that has to succeed before the run begins. When it fails, the [Interpreter]
// interprets its output, if the runtime is one.
type Step struct {
	Argv    []string
	Env     map[string]string // added to the plan's
	Timeout yurt.Duration     // 0: as long as the execution may take
}

// File is one file of a plan or a project.
type File struct {
	Path string // with slashes, relative, never leading out
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

// AbilityWarm is the ability of a runtime whose plan for a handler also serves many invocations of
// it: started with one more argument, HOST:PORT, its program asks the AWS Lambda Runtime API there
// for one after the other, and answers there in place of [ResultFD]. The event and the timeout of
// such a plan have no meaning, and the request id in its context is that of no invocation. Its
// compile steps, if there are any, come once.
const AbilityWarm = "warm"

// AbilityProject is the ability to run a project; the others are the
// [yurt.ExecutionKind]s and [AbilityDependencies].
const AbilityProject = "project"
