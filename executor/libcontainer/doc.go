// Package libcontainer makes sandboxes with runc's library. It is the launcher's
// side of executor/launch, and the one package that imports runc; only the
// command yurt-launcher may import it.
//
// libcontainer sets up namespaces, mounts and ID mappings in the right order.
// Three other tasks are taken off it for speed, and done elsewhere:
// cgroups (made and limited by executor/cgroup, and joined by being born in them),
// the seccomp filter (compiled once here, loaded by yurt-init before any user code
// exists), and running processes (yurt-init).
package libcontainer
