// Package slots keeps the slots of a node: each is room for one sandbox at a time of one
// template, in which there is a sandbox ready until somebody has it, and then the next one.
// Each has a keeper that sees to that, waits longer after each failure and gives up in the
// end. What slots there are is on the disk before anybody is told, so that a next executor
// goes on with them. The package makes no sandbox itself and hands none out: the node does
// the one, package reserve the other.
package slots
