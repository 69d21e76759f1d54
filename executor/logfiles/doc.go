// Package logfiles writes the output of an execution to rotated files of the host:
// NAME.0, NAME.1 and so on for each of stdout and stderr, which other programs read and
// follow.
//
// The executor calls it with each chunk of output, in order, and acknowledges a chunk when
// it is written. An executor may be killed at any moment: the journal says which chunk was
// being written, and where; the next executor asks for that chunk again, if it was not
// acknowledged, and it goes to the same place. So nothing is lost and nothing doubled.
//
// The directory may be one that untrusted code can change. It is reached through no link
// below its base, a file in it that is no regular one is replaced and never written to, and
// what the code does to the files changes nothing but its own log. A file that cannot be
// written, as on a full disk, never holds up the execution: what it would have got is
// dropped, which is said in the executor's log.
//
// A [Writer] is for one goroutine.
package logfiles
