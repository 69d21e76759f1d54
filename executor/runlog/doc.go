// Package runlog keeps the events of an execution in a file: written once as they
// happen, read by any number of watchers from any position.
//
// The file survives a restart of the executor, and keeps the executor's memory
// flat: output is not held there. One goroutine writes; any number read.
//
// A small log is best in a file system in memory, where a file costs least to make; a
// large one goes on in a file on disk, and so does each when the memory for logs is used
// up (see [Place]).
package runlog
