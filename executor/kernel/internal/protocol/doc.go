// Package protocol is the host's side of an interpreter that keeps state between
// executions, a kernel: it starts a kernel when it is first needed, hands it one execution
// after the other, assigns output to executions, interrupts it, and replaces a kernel that
// ended.
//
// The executor is its caller. A kernel is a process like any other to the sandbox: its
// output comes through yurt-init, numbered, and lasts over a restart of the executor. Its
// requests go by a FIFO in a directory that user code cannot change; each request is one
// atomic write, so that the kernel never sees a part of one.
//
// Every byte from a kernel is hostile, for user code runs in it: messages are bounded
// and validated, and marks and IDs are only accepted for the execution that runs now.
// A forger spoils the result of its own execution alone. A kernel that breaks the
// protocol is killed.
package protocol
