// Package faults tests Yurt's promises for the case that a part of it is killed: at any moment,
// under load, and started again, also in another version.
package faults
