// Package bash is the language runtime for Bash.
//
// Code runs as a script, whose exit code is that of the run. A syntax error and the
// error that Bash itself ended a script with become the error of the execution, with
// the line in the user's script; commands speak for themselves by their exit codes.
//
// A kernel is shell.sh, which keeps state, and kernel.sh, which tells the host when the
// user's code ends that shell.
package bash
