// Package cluster places sessions on the nodes of a cluster.
//
// Three owners meet here. An [Engine] (Nomad) owns capacity: it grants slots, each room
// on a node for one sandbox at a time. The executor of a node owns its sandboxes, and
// decides who gets one. A [View] (Consul) says what every node had a moment ago. The
// [Placer] joins them: it chooses a node from the view, asks that node for a sandbox that
// is ready, goes on to the next when it is refused, and has the engine start a slot for
// just this session when no node has any. Nothing on the way to a warm sandbox waits for
// the engine or for what the view is made from; with both away, warm claims go on.
//
// The view is always a little old, so a choice subtracts what this controller has taken
// since ([chooser]); what other controllers take is found out by being refused. A node
// whose calls fail is left alone for a while, and longer each time.
//
// What a session must not have told to others (its environment, its labels' values) goes
// to the node alone, never through the engine. A placement that fails, or whose caller
// leaves, leaves no sandbox, no slot and no count behind.
package cluster
