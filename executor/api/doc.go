// Package api is how other processes use an executor: gRPC on a Unix socket for
// callers on the same machine, and over mutual TLS for controllers.
//
// A [Server] offers an executor; a [Client] has the methods of one and can be used in
// its place. Errors keep their code, message and field on the way, and a context that
// ends on one side ends the work on the other, but for executions, which go on.
//
// The server decides about a caller when it connects, and serves no other. On the socket it
// accepts root and its owner, by the peer's credentials, whichever mode the
// file has; over TLS it accepts certificates that name a controller. All callers may do the
// same, but for slots, which only callers on the node itself open and close: the
// node grants its room. Messages are bounded, and larger values are sent in parts.
//
// A client whose executor is started again goes on by itself, and so does a watch, with
// no event lost or doubled. No call that changes state is sent twice.
package api
