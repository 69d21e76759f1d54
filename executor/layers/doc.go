// Package layers keeps directories that are made once and read by many sandboxes, such as installed packages: each under the
// digest of its source.
//
// A layer is there whole or not at all, also after a crash: it is made in a directory of another name, written to the disk and
// renamed. It never changes. A user of a layer holds a lock on it, which ends with the user's process; when all layers take more
// room than they may, unused ones go, the least recently used first. Several processes may share a directory of layers.
package layers
