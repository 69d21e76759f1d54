// Package files serves the files of sandboxes from a process that has no other power.
//
// [Serve] runs in that process, and [Client] in the executor. Each open directory has a socket of its own (SOCK_SEQPACKET): the server closes
// the directory when the other end is closed. A request brings along a third socket, in which its answer comes, so that a request is cancelled
// when its caller closes that socket, and a slow one holds up no other:
//
//	connection   {"uid":…,"gid":…} with the descriptors of a directory and of a socket    opens the directory
//	directory    {"op":"stat","path":"a"} with the descriptor of a socket                 begins a request
//	request      d…  a piece of content, in both directions
//	             e   the end of the content, to the server
//	             {"value":…} or {"error":…}, at most with one descriptor                  the answer
//
// Messages are JSON of at most 64 KiB, and are taken in the one form in which this package writes them. The server ends the connection or the
// directory from which a broken message comes. The client trusts no answer more than it needs to: a file to read is a regular file, and a
// pipe is a pipe.
//
// A server that ends fails the requests under way with [yurt.CodeUnavailable]. The next request opens its directory at a new server.
package files
