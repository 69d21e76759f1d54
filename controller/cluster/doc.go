// Package cluster places sessions on the nodes of a cluster.
//
// Three owners meet here. An [Engine] (Nomad) owns capacity: it grants slots, each room on a node for one sandbox at a time. The
// executor of a node owns its sandboxes, and decides which request gets one. A [View] (Consul) shows every node as it was a
// moment ago. The [Placer] joins them: it chooses a node from the view, asks that node for a warm sandbox, goes on to the next
// node when it is refused, and has the engine start a slot for this session alone when no node has a warm one. No step on the
// way to a warm sandbox waits for the engine or for the source of the view; with both away, warm claims go on.
//
// The view is always a little old, so a choice subtracts the claims that this controller has made since ([chooser]); the claims
// of other controllers show as refusals. A node whose calls fail is left alone for a while, and longer each time.
//
// A session's private data (its environment, the values of its labels) goes to the node alone, never through the engine. A
// placement that fails, or whose caller leaves, leaves no sandbox, no slot and no count behind.
package cluster
