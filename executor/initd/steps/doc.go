// Package steps carries out the compile steps of an execution, inside the sandbox and
// as the sandbox's user, and then becomes the program that they made.
//
// The executor writes a [Plan] where user code cannot change it and starts yurt-init's
// binary with [Command] in place of the program. So an execution is one process to
// yurt-init and to every caller that watches, signals or limits it, however many steps it
// has, and it goes on when the executor is restarted in the middle.
//
// A failed step is reported to the host by a [Report] on descriptor 3. User code can
// write there too: the host reads the report with [DecodeReport] as untrusted input,
// and a forged report deceives its author alone.
package steps
