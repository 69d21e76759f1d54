// Package start starts processes in sandboxes: by a fork of a zygote, an interpreter that is loaded
// already, where one may stand in for a fresh interpreter, and else in the ordinary way.
//
// It promises that a process is in the cgroup of its own before it runs any code, and that a zygote
// never runs code of the user's: one is started only while no process of the user's is in the sandbox.
// On cgroup v2 the fork for the next process is parked in its cgroup ahead.
//
// Packages run and kernel of the executor call it, and the executor when it makes a sandbox or takes
// one over. Processes of one sandbox may be started at the same time; the caller holds the gate.
package start
