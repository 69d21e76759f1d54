// Package driver is the task driver of Nomad: it makes tasks with `driver = "yurt"` sandboxes of the node's executor.
//
// Nomad's client starts the plugin (cmd/nomad-driver-yurt) and calls it by gRPC; a method here answers each call, by a call to
// the executor or two. The package is written on Nomad's protocol definitions alone, which are under the Mozilla licence: no
// code of Nomad under the Business Source License is linked.
//
// It promises:
//
// The executor, not the plugin, owns the processes. The plugin, the client and the executor may each be killed at any moment and
// started again: tasks live on, and no output is lost or doubled.
//
// A constructor and SetConfig have no effects, since Nomad calls them several times in processes that it ends at once. The
// executor is started, where the node has none, at the first fingerprint or the first task.
//
// Every call may be repeated. Ids of sandboxes and executions follow from the task's.
//
// A job whose wishes cannot be met is refused with an error that names the setting, its value and the allowed values. No setting is
// ignored.
//
// It never gives a task more than the operator of the client has allowed (see [Config]).
package driver
