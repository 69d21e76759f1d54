// Package logfiles writes the output of an execution to rotated files of the host: NAME.0, NAME.1 and so on for each of stdout
// and stderr, which other programs read and follow.
//
// The executor calls it with each chunk of output, in order, and acknowledges a chunk when it is written. An executor may be
// killed at any moment: the journal says which chunk was being written, and where; the next executor asks for that chunk again,
// if it was not acknowledged, and it goes to the same place. So no output is lost or doubled.
//
// The directory may be one that untrusted code can change. It is reached through no link below its base, an irregular file in it
// is replaced and never written to, and changes that the code makes to the files affect its own log alone. A file that cannot be
// written, as on a full disk, never holds up the execution: its output is dropped, and the executor's log says so.
//
// A [Writer] is for one goroutine.
package logfiles
