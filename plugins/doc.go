// Package plugins is the protocol between Yurt and its language runtimes, which
// are separate binaries built on go-plugin.
//
// A runtime plans and the sandbox runs: asked how to run a piece of code, it
// answers with files to write, steps that compile and a command to start ([Plan]); and
// shown the output of one that failed, with the error in it ([Interpreter]). It never
// runs user code on the host, and nothing it says is trusted: the host checks every plan
// before anyone acts on it, as it checks what a run hands over ([DecodeEnvelope]).
//
// The executor is the caller, through [Host]. A host finds the binaries named
// yurt-runtime-* in a plugin directory, starts one when it is first needed,
// negotiates the protocol version, restarts what crashed and kills what hangs. A
// broken runtime costs its own requests and no others. Each process gets a minimal
// environment, is reached over mutual TLS on a socket whose name is gone once the
// host is connected, and dies with the host, however that ends.
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
