// Package storetest is the conformance suite of the controller's stores: every
// implementation of contract.Store has to pass [Run] in its own tests.
//
// It holds a store to the interface's promises: values come back unchanged,
// steps are atomic under concurrency, lists are ordered and paged, and a
// missing record has its error code.
package storetest
