// Package plugins is the protocol between Yurt and its language runtimes, which are separate binaries built on go-plugin.
//
// A runtime plans and the sandbox runs: asked how to run a piece of code, it answers with files to write, steps that compile and
// a command to start ([Plan]); and shown the output of one that failed, with the error in it ([Interpreter]). It never runs user
// code on the host, and its answers are not trusted: the host checks every plan before it is used, as it checks the envelope of
// a run ([DecodeEnvelope]).
//
// This package is the contract of a runtime's author. Package host is the other side, which starts runtimes and asks them.
//
// A runtime's author implements [Runtime] and calls [Serve]:
//
//	func main() {
//		if err := plugins.Serve(myRuntime{}); err != nil {
//			fmt.Fprintln(os.Stderr, err)
//			os.Exit(1)
//		}
//	}
package plugins
