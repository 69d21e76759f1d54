// Package launch starts sandboxes through the launcher, a small separate process.
//
// Making a sandbox re-executes the binary that asks for it, from C, in a new
// program each time. The launcher keeps that binary small, and keeps cgo and
// libcontainer out of every other program. It runs from a sealed copy of itself in
// memory, in a mount namespace of its own, and holds no state: when it dies the
// sandboxes live on, and another is started.
//
// This package is the executor's side and the protocol; executor/libcontainer is
// the launcher's side.
package launch
