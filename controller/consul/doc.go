// Package consul is what a controller knows of the nodes of a cluster.
//
// Each node's executor registers a service with a check, and holds one key with what it has
// to offer ([yurt.Capacity]); the key vanishes with the node's session in Consul. A [View]
// follows both by blocking queries, and gives the placer a picture that is in memory.
//
// What it promises:
//   - Its questions are answered at once, from memory, whatever Consul does. With Consul
//     away the last picture stays, and [View.Status] says since when it is old.
//   - A node whose key has vanished is not healthy at once, and out of the picture after a
//     while that is counted only while Consul answers.
//   - What nodes write is half trusted: sizes, counts and names are bounded, and a value that
//     is not well formed costs the picture that one node, nobody else.
//   - Work for each change is in proportion to the nodes, never to sessions; changes that come
//     fast are taken together, so that following them costs a small part of a core at most.
//
// It writes nothing to Consul and decides nothing.
package consul
