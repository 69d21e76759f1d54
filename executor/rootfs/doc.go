// Package rootfs lays out the root file system of a sandbox: which directories
// and files of the host are bound into it, and the little that is made for it.
//
// It decides and does not mount: the result is a value that the launcher carries
// out. Nothing of the host gets in that is not listed.
package rootfs
