// Package executor is one node of Yurt as its callers see it. It opens the node's directories, stores and helper programs, and
// offers the operations on sandboxes and on their contents: files, executions, contexts and processes. Package node, which [Executor]
// embeds, makes, hands out, adopts and removes the sandboxes.
//
// It knows no session, no owner of one, no Nomad and no Consul (package announce, beside it, tells Consul about the node's
// capacity). Controllers and the driver call [Executor]'s methods, directly or by package api. The methods may be called concurrently and return
// errors that carry a [yurt.Code].
//
// All state that must last is on disk before a caller is told, and sandboxes do not depend on the process: an executor that is
// killed at any moment and started again on the same state directory finds every live sandbox, goes on with the
// executions in it, and removes sandboxes that are half made.
//
// The parts import in one order: sandbox, start, run, kernel, node, executor. Below them, launch starts sandboxes in a separate
// process, libcontainer is that process; oci and rootfs describe the parts of a sandbox; cgroup limits, measures and kills; initd
// talks to its first process; runlog keeps the output; workspace is its files; records is the state that outlives the process.
// docs/ARCHITECTURE.md has them all, by subject.
package executor
