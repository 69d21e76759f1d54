// Package slots keeps the slots of a node. A slot is room for one sandbox at a time of one template: it has a warm sandbox
// until a session claims it, and then gets the next one. Each slot has a keeper that makes these sandboxes, waits longer after each
// failure and gives up in the end. A slot's record is on the disk before the caller is told, so that the next executor goes on
// with it. The package neither makes sandboxes nor hands them out: the node makes them, package reserve hands them out.
package slots
