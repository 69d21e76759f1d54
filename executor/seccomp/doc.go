// Package seccomp is the list of system calls that code in a sandbox may make, as a table:
// calls in groups by subject, each group with its reason, and the arguments that a call may
// have where they decide which part of the kernel it reaches. executor/libcontainer compiles it.
//
// A call that is not in the table is refused with EPERM, and one that is newer than all of
// it with ENOSYS, as on an older kernel. Two rules guide the table. A part of the kernel is
// in it when programs that people run in sandboxes use it. And all memory that a call can
// take from the kernel is charged to the sandbox's cgroup or bounded by other means, see
// docs/SECURITY.md.
package seccomp
