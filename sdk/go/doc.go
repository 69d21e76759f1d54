// Package yurtclient calls a Yurt controller's REST API (/api/v1).
//
// It is for programs and for the command line. It speaks in the types of package
// yurt, and every failure that the controller reports comes back as a *yurt.Error
// with its stable code. A [Client] is safe for concurrent use and starts no
// goroutine that outlives a call. Contexts bound every call; no call has a timeout
// of its own, since an execution may run for an hour. Streams go on after a lost
// connection where they left off.
//
// [Client.Create] and [Client.Connect] return a [Sandbox], which has the calls that
// programs make most. The goroutine of [Local] ends with the server that it starts.
package yurtclient
