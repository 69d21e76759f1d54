// Package disk makes what workspaces on the host's disk are held in, which may be larger
// than memory: a file system in a file, or a directory that a project quota bounds. The
// executor makes them, the launcher mounts them (files by package loop); both give a
// descriptor or a path that no sandbox can reach.
//
// A directory is in a project of its own, which everything in it belongs to and nobody in
// a sandbox can change. The project's limits are in the file system's own tables, so that
// they hold whoever crashes meanwhile, and go with the directory. The file system's journal,
// and what else it has one of, is shared.
//
// A file system is made here and mounted once, with the sandbox it is for: nothing that
// a sandbox wrote to is ever mounted again. The file takes the space of what is in it,
// up to its size, and its device goes with the last mount of it, whoever crashed
// meanwhile.
package disk
