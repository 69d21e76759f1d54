// Package disk makes workspaces on the host's disk, which may be larger than memory: a file system in a file, or a directory that a
// project quota bounds. The executor makes them, the launcher mounts them (files by package loop); both give a descriptor or a path
// that no sandbox can reach.
//
// A directory is in a project of its own. All files in it belong to the project, and no process in a sandbox can change that.
// The project's limits are in the file system's own tables, so that they hold through any crash, and go with the directory. The
// file system's journal and its other single structures are shared.
//
// A file system is made here and mounted once, with its sandbox: no file system to which a sandbox wrote is mounted again. The
// file takes the space of its content, up to its size, and its device goes with the last mount of it, also after a crash.
package disk
