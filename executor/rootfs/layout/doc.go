// Package layout says what a root file system looks like: the value that executor/rootfs
// decides on and the launcher carries out.
//
// It is apart from both, and imports nothing, for the launcher's sake: it starts itself
// again for each sandbox, and what it links takes its time every time.
package layout
