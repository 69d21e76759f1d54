// Package disk makes file systems in files of the host's disk, which workspaces are
// held in that may be larger than memory. The executor makes them, the launcher mounts
// them (package loop); both give a descriptor or a path that no sandbox can reach.
//
// A file system is made here and mounted once, with the sandbox it is for: nothing that
// a sandbox wrote to is ever mounted again. The file takes the space of what is in it,
// up to its size, and its device goes with the last mount of it, whoever crashed
// meanwhile.
package disk
