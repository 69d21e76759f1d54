// Package vm tests Yurt on a host that this machine is not: one whose cgroups are
// pure version 2, as every current distribution's are, on the oldest kernel that
// Yurt is meant for. It starts a virtual machine with Debian's kernel and the root
// file system of this one, read-only, and runs there the executor's own tests, the
// ones that depend on cgroups, seccomp and the kernel's age. In others it sets the
// clock while sessions are served, by one controller and by several with a PostgreSQL server,
// which no test may do to the machine that it runs on. One boots with SELinux, and a policy for the tests.
//
// It needs QEMU (Debian: qemu-system-x86) and, the first time, a Debian mirror: the kernel's package is
// unpacked, never installed, and kept in the user's cache directory below yurt-vm. It uses KVM where there
// is any, and emulation elsewhere. No other files stay behind.
package vm
