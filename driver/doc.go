// Package driver is the task driver of Nomad: it makes tasks with `driver = "yurt"`
// sandboxes of the node's executor.
//
// Nomad's client starts the plugin (cmd/nomad-driver-yurt) and calls it by gRPC; a method
// here answers each call, by a call to the executor or two. The package is written on
// Nomad's protocol definitions alone, which are under the Mozilla licence: nothing of Nomad
// under the Business Source License is linked.
//
// What it promises:
//   - The executor, not the plugin, owns what runs. The plugin, the client and the executor
//     may each be killed at any moment and started again: tasks live on, and no output is
//     lost or doubled.
//   - Nothing happens in a constructor or in SetConfig, which Nomad calls several times in
//     processes that it ends at once. The executor is started, where there is none, when the
//     first fingerprint is asked for or the first task.
//   - Every call may be repeated. Ids of sandboxes and executions follow from the task's.
//   - A job that asks for what cannot be had is refused with an error that names the setting,
//     what it was given and what is allowed. Nothing is ignored.
//
// It never gives a task what the operator of the client has not allowed (see [Config]).
package driver
