// Package cgroup puts limits on sandboxes and kills and measures the runs in them,
// on cgroup v1, on v1 beside an empty v2 tree, and on v2 alone.
//
// A sandbox has a [Group], split so that user code cannot starve its init, which has memory
// and pids beyond those of the runs: on v2 "init" holds yurt-init, on v1, where a directory
// with others in it may hold processes too, the group itself does. "runs" carries the
// limits that were asked for, and below it each run has a [Leaf]. Processes are
// born in their leaf, or put into it before they have run any user code (see [Place]):
// user code is never outside its limits, and no run waits for the slow, kernel-wide
// lock of a move.
//
// A limit that cannot be enforced here is an error, never ignored. The package
// changes only the parent directory that it is given.
package cgroup
