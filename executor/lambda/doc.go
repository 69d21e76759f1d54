// Package lambda serves the AWS Lambda Runtime API to one function in a sandbox, so that
// the official runtime interface clients work there unmodified.
//
// The executor is its caller: it has a socket made in the sandbox's network namespace
// ([Listen]), hands over invocations one at a time ([Server.Invoke]), and is told of each
// what the function answered. Starting the function's process, its timeouts and its end
// are the caller's.
//
// Every byte of a request is hostile, for any process in the sandbox can send it: headers
// and bodies are bounded, so is the number of connections, bodies are read one at a time, requests beyond
// what an invocation needs wait, and an answer is taken only for the invocation that is under way. What a forger spoils is the result of the
// function it belongs to. Nothing here reads the sandbox's files or its environment.
package lambda
