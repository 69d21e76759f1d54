// Package consul is a controller's knowledge of the nodes of a cluster.
//
// Each node's executor registers a service with a check, and holds one key with its capacity ([yurt.Capacity]); the key vanishes
// with the node's session in Consul. A [View] follows both by blocking queries, and gives the placer a picture in memory.
//
// It promises:
//
// The picture is answered at once, from memory, in any state of Consul. With Consul away the last picture stays, and
// [View.Status] says since when it is old.
//
// A node whose key has vanished is unhealthy at once, and leaves the picture after a while that is counted only while Consul
// answers.
//
// Values that nodes write are half trusted: sizes, counts and names are bounded, and a malformed value removes that one node
// from the picture and no other.
//
// Work for each change is in proportion to the nodes, never to sessions; rapid changes are taken together, so that following
// them costs a small part of a core at most.
//
// The package writes to Consul nowhere, and makes no decision.
package consul
