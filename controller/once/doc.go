// Package once carries out a request that changes something once, however often its client sends it: the client names the request by
// an Idempotency-Key.
//
// A key is claimed in the store before the request is carried out, and the answer is stored before the client gets it. A repeated
// request gets the stored answer, at any controller. It waits for a short time for the answer of a request that is under way. A request
// that was refused frees its key, since the server is as it was. So does a request whose stream ended by a failure without an effect. A
// request without an answer, since its controller died or its client left, is not carried out again: the client is told so.
//
// Keys belong to a tenant, and those of a session token to its session. They are kept for a day.
//
// Creates of sessions do not come here: the controller stores their keys in the transaction that stores the session, and keeps them as
// long as the session. A repeated create waits for the session of the first one and returns it, also when the controller that began it
// has died; a claim that is apart from the session could only say that the first request has no answer. And a create with a key takes
// one write of the store, where a claim and an answer would make it three.
package once
