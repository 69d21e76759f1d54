// Package pool sizes warm pools: how many sandboxes of each template are kept ready before
// anybody asks for one.
//
// A [Policy] says how many, from what a pool was needed for; a [Planner] says for all pools
// what to open and what to close now; a [Manager] does that over a [Supply], which is the
// slots of a cluster or the reserve of the executor in this process. The first two are values
// without a clock, goroutines or input and output, and are what the simulation in this
// package's tests runs.
//
// What a pool holds is slots. A slot has a sandbox that is ready, or one that is claimed, or
// is about to have one. Where a slot makes another sandbox by itself once a session has ended
// (on a cluster), claimed ones count towards the size of the pool; where it does not (the
// local reserve), they are gone and are made good.
//
// The package never closes what is claimed: its Supply decides, at the node, whether a slot
// is idle. It keeps nothing: a manager that is started finds what there is and takes it for
// what was needed, so that a change of the leader neither doubles nor empties a pool.
package pool
