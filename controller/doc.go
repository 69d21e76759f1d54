// Package controller holds sessions: it places them, runs executions in them, and ends them.
//
// The transports (controller/httpapi and others) call a [Controller] and add no rule of their own: every input is validated here
// against the bounds of package yurt, and every legal step of a session's life is decided here, inside a transaction of the
// store. A Controller joins its parts and embeds those that transports call: executions (controller/execution), nodes
// (controller/fleet), templates and files. Placers (controller/local and others) and stores (controller/sqlite and others)
// implement the interfaces of controller/contract.
//
// All lasting state is in the [contract.Store] or on the nodes. A controller that was killed at any moment and started again finds its
// sessions: those whose sandbox lives go on with their running executions; the others end with a reason; and a sandbox that no
// session owns is destroyed. A session that is used up, idle or too old is ended by the reaper, which sleeps until the next
// deadline.
//
// A Controller is safe for concurrent use. It owns every goroutine that it starts; [Controller.Close] waits for them. It never
// shows or logs the environment of a session, which may hold secrets.
package controller
