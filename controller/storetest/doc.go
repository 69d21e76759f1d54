// Package storetest is the conformance suite of the controller's stores: every
// implementation of controller.Store has to pass [Run] in its own tests.
//
// It holds a store to what the interface promises: values come back as they went
// in, steps are atomic under concurrency, lists are ordered and paged, and what is
// missing has its error code.
package storetest
