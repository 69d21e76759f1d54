// Package pid1 is yurt-init, the first process of every sandbox: it starts
// processes, reaps every process that ends, and keeps their numbered output until the
// host has it.
//
// It runs as root of the sandbox's user namespace, which is an unprivileged user on the
// host, with just the capabilities to become another user, and locks itself down with
// the sandbox's seccomp filter before any user code exists. User code runs as
// another user with no capability at all, and so can neither trace nor signal it.
//
// Only cmd/yurt-init links it, and it depends only on the standard library,
// golang.org/x/sys and executor/initd.
package pid1
