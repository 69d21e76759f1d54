// Package sqlite is the controller's store in one SQLite file: the default of a
// single machine.
//
// [Open] makes or migrates the file and returns a [Store], which implements
// contract.Store. Migrations only go forward. The file is in WAL mode with one
// writing connection and several reading ones, so that readers never wait for a
// writer. A commit survives the death of the process; after a power cut the last few may
// be lost, but the file stays consistent.
//
// The file holds the environments of sessions, which may be secret: it is created
// readable by its owner alone. One controller at a time uses it: a lock of the file's
// name and .lock sees to that, so that live sessions can be kept in memory as they were
// last committed.
package sqlite
