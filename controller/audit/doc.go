// Package audit records the callers that changed something, and those that were refused.
//
// A [Log] takes one [Entry] for each change, for each refusal and for each event that concerns security, such as a program that the
// kernel killed for a forbidden system call. Entries wait in a bounded queue. [Log.Run] writes them in the background to the store,
// which only ever adds to them, and to a file if the operator names one.
//
// A change needs room in the queue before it begins: [Log.Begin] reserves it. While there is no room, changes are refused, so that
// no change is made that the log does not have. Refusals and events need no room: a flood of them is summed up in one entry a second.
//
// An entry has ids, addresses and names of operations. It never has a body, a header or a query of a request.
package audit
