// Package binary finds the binaries of language runtimes in a plugin directory, refuses those that others could have changed, and says how
// one is started. The start itself is another package's: the process that asks runtimes for plans has no power to start them confined.
package binary
