// Package nomad is the engine of a cluster: it has Nomad start slots.
//
// The placer calls it (package controller/cluster defines the interface). A slot is one batch job with one task of the driver
// yurt, made from a jobspec that the operator can edit; Nomad's own parser reads that once, at the start. The engine fills in
// the fields that differ from slot to slot: name, meta, resources, affinities and the slot of the task's configuration. No
// environment, file or secret of a session goes through Nomad.
//
// It promises:
//
// [Engine.Start] returns when Nomad has placed the job, which one stream of events shows for all orders; it never waits for a
// status that a client reports. Its error gives Nomad's own words.
//
// After an error no job is left behind: it is removed in the background, again and again until that worked or the engine is closed;
// [Engine.Jobs] shows the rest to the sweep.
//
// A burst does not become a stampede: few orders are with Nomad at once, those of waiting sessions come first, and have the higher
// priority in Nomad too.
//
// With Nomad away, calls try again until their context ends, and a server that restarts in between costs an order only time.
//
// It knows sessions by their ids alone, and keeps no state: a controller that starts finds the jobs of others in Nomad.
package nomad
