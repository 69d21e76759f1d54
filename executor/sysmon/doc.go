// Package sysmon slows the monitor thread of the Go runtime, which watches the other
// threads of a process.
//
// After each idle period of the process the monitor wakes every 20 µs, for a millisecond
// and more. A server is idle often: the monitor takes a tenth of the processor time of a
// controller, and of an executor. It looks for threads that stay in a system call and for
// goroutines that run for long; both can wait for half a millisecond
// where answers take several. The process's own timers do not depend on that thread.
package sysmon
