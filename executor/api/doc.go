// Package api is how other processes use an executor: gRPC on a Unix socket for
// callers on the same machine, and over mutual TLS for controllers.
//
// A [Server] offers an executor; a [Client] has the methods of one and can be used in
// its place. Errors keep their code, message and field on the way, and a context that
// ends on one side ends the work on the other, but for executions, which go on.
//
// Who may call is decided when a connection is made, and nothing is served to others:
// on the socket root and its owner, by the peer's credentials, whatever the mode of the
// file; over TLS those whose certificate names a controller. All callers may do the
// same, but for slots, which only those on the node itself open and close: what room
// there is, is granted on the node. Messages are bounded, and whatever is larger is sent in parts.
//
// A client whose executor is started again goes on by itself, and so does a watch, with
// nothing lost or doubled. No call that changes something is sent twice.
package api
