// Package protocol is the host's side of an interpreter that keeps state between
// executions, a kernel: it starts one when it is first needed, hands it one execution
// after the other, tells whose output is whose, interrupts it, and replaces one that
// ended.
//
// The executor is its caller. A kernel is a process like any other to the sandbox: its
// output comes through yurt-init, numbered, and lasts over a restart of the executor. Its
// requests go by a FIFO in a directory that user code cannot change; each is one write
// that no other can divide, so that none is ever half there.
//
// Every byte from a kernel is hostile, for user code runs in it: messages are bounded
// and validated, marks and ids are only believed of the execution that runs now, and
// what a forger spoils is the result of its own execution. A kernel that breaks the
// protocol is killed.
package protocol
