// Package screen lays out the output of commands for a person.
//
// Commands hand it tables, sizes and times, and the stream that they write to. It finds the
// width of the terminal, decides about colours, and returns text. It never writes by itself,
// and JSON output does not pass through it.
package screen
