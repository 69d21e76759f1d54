// Package sockets has yurt-init make some system calls in the place of code: making sockets of netlink, beginning to
// listen, and on cgroup v1 making sockets of TCP. Calls that lock files, or make instances
// of epoll, timers and counters of events, come the same way and are counted by executor/initd/objects.
//
// The kernel charges the queues of such sockets to no cgroup: messages of netlink that are not read, and connections that are
// not accepted with all that came by them. No setting of the kernel bounds their number for a sandbox as a whole, so yurt-init
// does. The kernel hands the calls over ([Load]); a [Keeper] makes them. It knows which sockets are still open by an epoll
// instance of its own, from which the kernel takes a socket when the last descriptor of it is closed, in whichever process or
// message that was.
//
// A Keeper makes the call itself and does not let the kernel go on with it: the caller could have put another socket in the place of
// the one that was looked at. The exceptions are connecting on cgroup v1 and the calls that are counted, for which no file is looked
// at.
package sockets
