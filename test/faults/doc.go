// Package faults holds the tests of what Yurt promises when a part of it is killed: at
// any moment, under load, and started again, also in another version.
package faults
