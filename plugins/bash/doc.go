// Package bash is the language runtime for Bash.
//
// Code runs as a script, whose exit code is that of the run. A syntax error and the
// error that Bash itself ended a script with become the error of the execution, with
// the line in the user's script; commands speak for themselves by their exit codes.
package bash
