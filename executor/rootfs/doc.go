// Package rootfs lays out the root file system of a sandbox: the directories and files of the host that are bound into it, and
// the few that are made for it.
//
// It decides and does not mount: the result is a value that the launcher carries out. A path of the host gets in only if it is
// listed.
package rootfs
