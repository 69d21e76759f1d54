package plugins

import (
	"context"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// Interpreter is a [Runtime] that can interpret the output of a failed step.
type Interpreter interface {
	// Interpret returns the error that the output reports, or nil when it reports no error. The
	// output is the user's to forge. Like Plan, it must be quick and free of side effects.
	Interpret(ctx context.Context, failure Failure) (*yurt.ExecutionError, error)
}

// Phase says which part of a plan failed.
type Phase string

// The phases of a plan.
const (
	PhaseCompile Phase = "compile"
	PhaseRun     Phase = "run"
)

// MaxInterpretedBytes bounds the output that is shown to an [Interpreter]. A virtual machine prints
// up to 1024 frames below the message of an exception.
const MaxInterpretedBytes = 256 << 10

// Failure is a step that did not exit with 0.
type Failure struct {
	Language string
	Phase    Phase
	Step     int // of Plan.Compile
	ExitCode int // -1 when a signal ended it
	Signal   int
	// Output is that of a compile step, its beginning when there was too much; of a run it is the
	// end of standard error.
	Output []byte
	// As in the [PlanRequest].
	Root, Dir, OutDir, Entry string
}

// maxSummaryLines is how much of a compiler's output stands for all of it.
const maxSummaryLines = 10

// CompileError returns the error of a compile step whose output could not be interpreted: its first
// lines are the message.
func CompileError(output []byte) *yurt.ExecutionError {
	return &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: summary(output), Stacktrace: []string{}}
}

func summary(output []byte) string {
	var lines []string
	for line := range strings.Lines(string(output)) {
		if line = text.Clean(strings.TrimRight(line, " \t\r\n")); line != "" && len(lines) < maxSummaryLines {
			lines = append(lines, text.Cut(line, maxStackLineBytes))
		}
	}
	if len(lines) == 0 {
		return "the compiler failed and printed nothing"
	}
	return strings.Join(lines, "\n")
}
