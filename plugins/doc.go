// Package plugins is the protocol between Yurt and its language runtimes, which
// are separate binaries built on go-plugin.
//
// A runtime plans and the sandbox runs: asked how to run a piece of code, it
// answers with files to write, steps that compile and a command to start ([Plan]); and
// shown the output of one that failed, with the error in it ([Interpreter]). It never
// runs user code on the host, and nothing it says is trusted: the host checks every plan
// before anyone acts on it, as it checks what a run hands over ([DecodeEnvelope]).
//
// This package is the contract of a runtime's author. Package host is the other side, which starts runtimes and
// asks them.
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
