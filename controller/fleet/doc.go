// Package fleet keeps sessions, sandboxes and nodes in step.
//
// A [Keeper] judges the remains of earlier lives, compares the store with the nodes every half a minute, ends sessions that run out,
// fails those of nodes that are lost, and tells those of nodes that drain. Of several controllers the leader does so. [Nodes] serves
// requests about nodes and their sandboxes. [Deadlines] wakes the keeper when something falls due.
//
// The package knows sessions and executions by interfaces of its own.
package fleet
