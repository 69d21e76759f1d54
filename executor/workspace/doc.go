// Package workspace reads and writes files inside a sandbox from the host.
//
// Paths and everything they lead through are the sandbox's to choose, so none is
// trusted: resolution stays below the directory whatever links are there or are
// put there meanwhile, opens never block on a FIFO, and every operation runs with
// the file system identity of the sandbox's own user, so that it can do nothing
// that the user could not. Files are streamed, never held in memory.
package workspace
