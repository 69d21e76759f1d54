// Command yurt is all of Yurt in one binary: the development server, a local
// sandbox for a single file, and the client of a server.
//
// Each command of it has a file of its own, which says what its flags are and joins
// the parts that do the work; none does work of its own that another program could
// want. What a command prints for people goes to standard output as a table or
// text, and as JSON under --json; errors go to standard error in one line that
// says what to do, or as a problem object under --json.
//
// Exit codes are those of the code of the error, see [yurt.Code.ExitCode]; a
// command that runs something of the user's in a session exits with its exit code.
// Called by the name sandbox-run, the binary is "yurt run".
package main
