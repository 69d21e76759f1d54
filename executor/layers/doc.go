// Package layers keeps directories that are made once and read by many sandboxes, such as
// the packages that an installation left: each under the digest of what it was made from.
//
// A layer is there whole or not at all, also after a crash: it is made in a directory of
// another name, written to the disk and renamed. It never changes. Who uses one holds a
// lock on it, which ends with its process; when all of them take more room than they may,
// those that nobody uses go, the one that was not used for longest first. Several
// processes may share a directory of layers.
package layers
