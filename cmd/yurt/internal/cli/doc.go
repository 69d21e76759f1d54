// Package cli has the parts that the commands of yurt share: the streams and common flags, the client of a server, input files, tables,
// JSON and errors as output, completion of the shell, and the way in which the events of an execution are shown.
package cli
