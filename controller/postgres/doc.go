// Package postgres is the store of several controllers, in one PostgreSQL database.
//
// [Open] migrates the database and returns a [Store], which implements contract.Store.
// Migrations only go forward, and only one of several controllers that start at once
// carries them out. A session is locked while a step of its life is decided, so that the
// steps of all controllers come one after the other.
//
// Failures that are no fault of the request are retried for a moment: deadlocks, and a
// server that is away. If the answer to a commit was lost, the store asks the server whether
// the commit took place, so that no step is lost or taken twice. A store that stays away is a
// yurt.CodeUnavailable error with a time to wait; from then on requests fail at once,
// until one succeeds.
//
// The database holds the environments of sessions, which may be secret. The URL, which
// may hold a password, appears in no error.
package postgres
