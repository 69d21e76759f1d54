// Package nomad is the engine of a cluster: it has Nomad start slots.
//
// The placer calls it (package controller/cluster defines the interface). A slot is one
// batch job with one task of the driver yurt, made from a jobspec that the operator can
// edit; Nomad's own parser reads that once, at the start. What differs from slot to slot
// is filled in here: name, meta, resources, affinities and the slot of the task's
// configuration. No environment, file or secret of a session goes through Nomad.
//
// What it promises:
//   - [Engine.Start] returns when Nomad has placed the job, which is known from one
//     stream of events for all orders; it never waits for a status that a client reports.
//     When nothing could be placed it says why in Nomad's words.
//   - After an error no job is left behind: it is removed in the background, again and
//     again until that worked or the engine is closed, and what was missed then is in
//     [Engine.Jobs] for whoever sweeps.
//   - A burst does not become a stampede: few orders are with Nomad at once, those that a
//     session waits for come first, and Nomad is told so too (priority of the job).
//   - With Nomad away, calls try again until their context ends, and a server that
//     restarts in between costs an order nothing but time.
//
// It knows nothing of sessions but their ids, and keeps no state: a controller that starts
// finds in Nomad what others have started.
package nomad
