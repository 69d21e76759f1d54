// Package layout describes a root file system: the value that executor/rootfs
// decides on and the launcher carries out.
//
// It is apart from both, and imports no other package, for the launcher's sake: the launcher
// starts itself again for each sandbox, and each package that it links costs time then.
package layout
