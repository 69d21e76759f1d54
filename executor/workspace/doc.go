// Package workspace reads and writes files inside a sandbox from the host.
//
// The sandbox chooses the paths and everything they lead through, so the host trusts no
// path: resolution stays below the directory even if links are put there meanwhile,
// opens never block on a FIFO, and every operation runs with
// the file system identity of the sandbox's own user, so that it can do only
// things that the user could do. Files are streamed, never held in memory.
package workspace
