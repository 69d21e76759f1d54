// Package contract holds the interfaces that join the controller to stores, nodes and placers, and the values that these speak in.
//
// The parts of the controller take smaller interfaces of their own; an implementation of this package's satisfies each of them. A store
// is held to its contract by package controller/storetest.
package contract
