// Package initd is the protocol between the executor and yurt-init, the first
// process of every sandbox.
//
// yurt-init listens on a Unix stream socket that the host made and handed over as
// a descriptor; no path inside the sandbox leads to it. One connection carries one
// request at a time. A connection that starts or attaches to a process then carries that
// process's output, so a slow reader delays no other process. A reader that reconnects
// names the last chunk that it saw and misses no output. When the process has ended and the
// host has let yurt-init forget it, the next request may follow on the same connection.
//
// The host treats every byte from the sandbox as hostile: frames are bounded by
// [MaxFrame], unknown kinds and malformed payloads end the connection.
package initd
