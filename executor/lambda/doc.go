// Package lambda serves the AWS Lambda Runtime API to one function in a sandbox, so that
// the official runtime interface clients work there unmodified.
//
// The executor is its caller: it has a socket made in the sandbox's network namespace
// ([Listen]), hands over invocations one at a time ([Server.Invoke]), and receives the
// function's answer to each. Starting the function's process, its timeouts and its end
// are the caller's.
//
// Every byte of a request is hostile, for any process in the sandbox can send it. Headers,
// bodies and the number of connections are bounded, bodies are read one at a time, and requests
// beyond the needs of an invocation wait. An answer is accepted only for the invocation that
// is under way, so a forger spoils the result of its own function alone. The package reads neither
// the sandbox's files nor its environment.
package lambda
