// Package sysmon holds back the thread by which the Go runtime watches the others of a
// process, its monitor.
//
// That looks every 20 µs, for a millisecond and more each time that the process has
// something to do after it had nothing, which is what a server is about: a tenth of the
// processor time of a controller, and of an executor. What it looks for, a thread that stays
// in a system call or a goroutine that runs for long, can wait for half a millisecond
// where answers take several. Nothing of the process's own is timed by that thread.
package sysmon
