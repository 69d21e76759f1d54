// Package sandbox is one sandbox as the executor holds it: the live handle, its record on disk, its
// files and disk, the layers of packages inside it, its tools, and whether it is paused.
//
// A [Sandbox] starts no process and knows no execution: packages start, run and kernel of the
// executor add these. It promises that the record is on disk before the sandbox changes by it, so
// that the next executor finds each sandbox as its owner was told.
//
// The executor alone makes sandboxes and calls this package. All methods may be called at the same
// time; the ones that need the gate or the lock say so.
package sandbox
