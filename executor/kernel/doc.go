// Package kernel is the executions that share a process: in the contexts of a session, whose
// interpreters keep state, and of functions, whose processes ask the Lambda Runtime API for their
// invocations, be it a client's or a handler in code that stays warm.
//
// It starts such a process when it is first needed, puts executions into its queue, tells their
// results from its output, and goes on with both over a restart of the executor. It promises that a
// result says so when variables are lost, also after such a restart. The queue of one context, and the
// messages of its process, are package protocol, inside this one.
//
// The executor is its caller. The interface [Planner] is its way to the layers of a template, which are
// planned above it. All methods may be called at the same time.
package kernel
