// Package runlog keeps what an execution did, event by event, in a file: written
// once as it happens, read by any number of watchers from wherever they want.
//
// The file is what survives a restart of the executor, and what keeps its memory
// flat: no output is held in the executor's own. One goroutine writes; any number read.
//
// A small log is best in a file system in memory, where a file costs least to make; a
// large one goes on in a file on disk, and so does each when the memory for logs is used
// up (see [Place]).
package runlog
