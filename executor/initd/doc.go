// Package initd is the protocol between the executor and yurt-init, the first
// process of every sandbox.
//
// yurt-init listens on a Unix stream socket that the host made and handed over as
// a descriptor; no path inside the sandbox leads to it. One connection carries one
// request at a time. A connection that starts or attaches to a process then carries that
// process's output, so a slow reader holds up nobody else, and a reader that comes
// back says which chunk it saw last and misses nothing. When the process has ended and the
// host has it forgotten, on the same connection, the next request may follow.
//
// The host treats every byte from the sandbox as hostile: frames are bounded by
// [MaxFrame], unknown kinds and malformed payloads end the connection.
package initd
