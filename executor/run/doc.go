// Package run is one execution: its request, its process in the sandbox, its output and the streams of it,
// its clock, the signals that it gets, and its result. It also measures the resources of a sandbox and lists
// the processes in it.
//
// It promises that an execution is on disk, as the first entry of its log, before its process is started,
// and that its result is in the log before a caller is told. So the next executor goes on where the log
// ends, see [Engine.AdoptProcess].
//
// Package kernel of the executor and the executor itself call it. It reaches the packages above it through
// two interfaces: [Adoption] for a sandbox that is being taken over, and [Messages] for the events in the log
// of an execution in a context. All methods may be called at the same time; the ones that need the gate of
// the sandbox say so.
package run
