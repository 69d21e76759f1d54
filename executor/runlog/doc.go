// Package runlog keeps what an execution did, event by event, in a file: written
// once as it happens, read by any number of watchers from wherever they want.
//
// The file is what survives a restart of the executor, and what keeps its memory
// flat: no output is held in memory. One goroutine writes; any number read.
package runlog
