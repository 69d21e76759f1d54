package plugins

import (
	"context"
	"errors"
)

// AbilityZygote is the ability of a runtime whose runs can be forks of an interpreter that
// waits; it is a [ZygotePlanner] then.
const AbilityZygote = "zygote"

// ZygoteReady is the line that a zygote writes to its standard output once it takes requests.
const ZygoteReady = "ready"

// ZygotePlanner is implemented, beside [Runtime], by a runtime whose runs can be forks.
//
// A zygote is an interpreter in the sandbox that has run no code of the user's and never will.
// Descriptor [ResultFD] is a socket of packets, each of which asks for one run. A packet is text
// whose parts zero bytes separate: "1" if the run hands over a result and else "0", the working
// directory, the number of arguments, these, and the environment. Descriptors come with it: the
// line, those of the run from 0 on, and files of cgroups.
//
// The zygote forks twice, before or after it is asked, waits for the first child, which ends at
// once, and writes "o" to the line: the second is an orphan then. That one writes "0" to the files
// of cgroups, makes the descriptors its own, begins a session, enters the directory, takes the
// environment, and writes "r" to the line. When it reads "g" there it closes the line and carries
// on as if it had been started with the arguments, which are those of a [Plan]; at the end of the
// line it exits. A process that cannot serve a request as a fresh interpreter would writes "n".
//
// A packet that begins with "p" and comes without descriptors asks for the process that would serve
// the next request: the process that reads it sends it back, and waits for the next. On cgroup v2,
// where no files of cgroups come with a request, yurt-init has moved that process into its run's
// cgroup by then, and has no other carry on.
//
// Its forks begin with the modules that it imported for [KernelRequest.Preload]. It refuses where a
// file of the user's would have been imported instead, and has generators of random numbers begin
// anew in each. Kernels are forked as well, of the kind that [KernelRequest.Kernel] names, and
// begin with the same modules.
//
// A zygote has one thread. No process of the same user can trace it once it is ready; before that,
// no such process exists. When the socket ends it exits.
type ZygotePlanner interface {
	// PlanZygote says how to start a zygote. It must be quick and free of side effects.
	PlanZygote(ctx context.Context, req KernelRequest) (KernelPlan, error)
}

var errNoZygote = errors.New("the runtime plans no zygote")
