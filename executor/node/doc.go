// Package node owns the sandboxes of one node: it makes them, keeps them ready in slots, hands them out, adopts those
// of an earlier executor, and removes them. It also chooses how an execution begins, and installs the dependency layers that
// sandboxes and executions need.
//
// It promises that a record is on disk before the caller is told, that a sandbox is handed out once, and that a sandbox which is
// half made leaves neither processes nor files behind.
//
// Locks are taken in one order: first the lock of a sandbox, then the node's, then that of a slot or of the notifications.
//
// Package executor is its only caller. Below it are the parts of one sandbox: kernel, run, start and sandbox. All methods may be
// called at the same time, once [Node.Start] has returned.
package node
