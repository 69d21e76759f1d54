// Package trees keeps directories that are made once and read by many sandboxes, such as images and installed packages: each under the
// digest of its source, with a file of facts beside it.
//
// A tree is there whole or not at all, also after a crash: it is made in a directory of another name, written to the disk and
// renamed. It never changes. A user of a tree holds a lock on it, which ends with the user's process; when all trees take more
// room than they may, unused ones go, the least recently used first. Several processes may share a directory of trees.
//
// The package knows no kind of tree. Images and packages have a store each, in a directory and with a limit of their own.
package trees
