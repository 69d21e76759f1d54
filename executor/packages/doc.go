// Package packages manages the packages that code needs on a node: the rules for installing them, the layers that an execution
// needs, and their making: each layer once, for all that wait for it, with bounds for the node and each sandbox. The executor
// carries an installation out in a sandbox for that alone; package layers keeps the result, and package egress is its way out.
package packages
