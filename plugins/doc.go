// Package plugins is the protocol between Yurt and its language runtimes, which
// are separate binaries built on go-plugin.
//
// A runtime plans and the sandbox runs: asked how to run a piece of code, it
// answers with files to write and a command to start ([Plan]). The executor is
// the caller, through [Host], which starts the binaries of a plugin directory,
// negotiates the protocol version, restarts what crashed and cuts off what hangs.
// A runtime's author implements [Runtime] and calls [Serve].
package plugins
