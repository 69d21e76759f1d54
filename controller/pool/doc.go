// Package pool sizes warm pools: how many sandboxes of each template are ready before a session asks for one.
//
// A [Policy] computes the size of one pool from its demand; a [Planner] computes for all pools which slots to open and to close
// now; a [Manager] carries the plans out on a [Supply], which is the slots of a cluster or the reserve of the executor in this
// process. The first two are values without a clock, goroutines or input and output. The simulation in this package's tests runs
// them.
//
// A pool holds slots. A slot has a sandbox that is ready or claimed, or is about to have one. Where a slot makes another sandbox
// by itself after a session (on a cluster), claimed slots count towards the size of the pool; where it does not (the local
// reserve), they are gone and are replaced.
//
// The package never closes a claimed slot: its Supply decides, at the node, whether a slot is idle. A manager keeps no state on
// disk: it starts from the present number of slots as the demand until then, so that a change of the leader neither doubles nor
// empties a pool.
package pool
