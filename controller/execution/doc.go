// Package execution runs things in sessions: it starts executions at nodes, follows each of them until its end, and stores its result.
//
// A [Runner] serves requests. A [Tracker] has the executions that this controller follows: it finds out why one ended, stores the end
// with the step of its session in one transaction, and then tells those that wait. It ends what runs in a session that has ended.
//
// The package knows stores, placers and templates by interfaces of its own. Sessions and the fleet are above it.
package execution
