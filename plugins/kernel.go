package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yurtrun/yurt"
)

// AbilityKernel is the ability of a runtime whose language keeps state between
// executions; it is a [KernelPlanner] then.
const AbilityKernel = "kernel"

// AbilityCompletion is the ability of a runtime all of whose kernels answer questions about code
// that is not run; see [KernelPlanner].
const AbilityCompletion = "completion"

// KernelQuestion is the name of the file, in [KernelRequest.Dir], that holds a question while a
// kernel is asked it.
const KernelQuestion = "question"

// KernelRequests is the name of the FIFO, in [KernelRequest.Dir], that a kernel reads
// its requests from.
const KernelRequests = "requests"

// KernelPlanner is implemented, beside [Runtime], by a runtime whose language keeps state: an interpreter, called a kernel,
// that runs one execution after the other.
//
// A kernel is a program in the sandbox. It reads requests from the FIFO [KernelRequests]. Where that ends the host is away,
// and the kernel goes on reading once it can open the FIFO again. A request is one line with one JSON object, see package
// executor/kernel/internal/protocol; a longer request is in a file that the line names. A request whose id is that of the
// last one is asked again: the kernel repeats its answer.
//
// A request with "ask" is a question about its "code" at the "cursor", which counts Unicode code points. The kernel does not
// run the code and counts no execution. The result of its done is the answer: of "complete" {"matches": [{"text", "type"}],
// "cursor_start", "cursor_end"}, of "inspect" {"found", "data"}, where data has MIME types and "detail" 1 asks for source
// code too. A question has no marks and no display, and is never asked again; SIGINT interrupts it.
//
// A kernel answers on descriptor [ResultFD] with one JSON object a line: any number of "display", then one "done". With each
// done it writes a mark to descriptors 1 and 2, which tells where the output of the execution ends. A kernel whose own code
// failed, perhaps because the user's code broke a module that it needs, ends at once, with a done that gives the reason in
// "broken", or without one. A done with an error and a "speaker" says that the last line of standard error is the message of
// the error, and that there is no error unless the line begins with that text. SIGINT interrupts the execution that runs, and is ignored between them.
type KernelPlanner interface {
	// PlanKernel says how to start a kernel. It must be quick and free of side effects.
	PlanKernel(ctx context.Context, req KernelRequest) (KernelPlan, error)
}

// KernelRequest asks how to start a kernel.
type KernelRequest struct {
	Language string
	Dir      string            // directory of the kernel inside the sandbox, absolute; KernelPlan.Files go there
	Tools    map[string]string // absolute paths of the [yurt.Tool]s that are there, by name
	Preload  []string          // modules that a zygote imports before it is ready; empty for a kernel
	Kernel   string            // which of [yurt.RuntimeInfo.Kernels] it is to be; empty for the runtime's own

	MemoryLimit yurt.Size // of the sandbox; 0 if that is not known
}

// KernelPlan says how to start a kernel in the sandbox.
type KernelPlan struct {
	Files []File            // written before it starts
	Argv  []string          // never empty
	Env   map[string]string // added to the sandbox's environment, below the user's
}

// Validate checks everything that the sandbox relies on, as [Plan.Validate] does.
func (p KernelPlan) Validate() error {
	for _, name := range []string{KernelRequests, KernelQuestion} {
		if slices.ContainsFunc(p.Files, func(f File) bool { return f.Path == name }) {
			return fmt.Errorf("file path %q is that of the requests", name)
		}
	}
	return Plan{Files: p.Files, Argv: p.Argv, Env: p.Env}.Validate()
}

var errNoKernel = errors.New("the runtime plans no kernel")
