// Command yurt is all of Yurt in one binary: the development server, a local
// sandbox for a single file, and the client of a server.
//
// Each command of it has a file of its own, which declares its flags and joins the parts that do
// the work; work that another program could want is in the packages below. A command's output for
// people goes to standard output as a table or text, and as JSON under --json; errors go to
// standard error in one line with the next step, or as a problem object under --json.
//
// Exit codes are those of the code of the error, see [yurt.Code.ExitCode]; a
// command that runs something of the user's in a session exits with its exit code.
// Called by the name sandbox-run, the binary is "yurt run".
package main
