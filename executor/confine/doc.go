// Package confine starts programs of the node's own without power over the host, such as language runtimes.
//
// A confined program runs as a user of its own without groups and capabilities, in new namespaces of mounts, processes,
// network and messages. It sees /usr with the libraries of the host and its own binary, all read-only, and may write to one
// directory of bounded size. A list of system calls and landlock hold below that. A cgroup bounds its memory and processes.
//
// A thread of the calling process, which is the broker's, gives up the power first, for good, and then starts the program, which inherits the thread's state. No helper
// program is executed on the way, so that any binary can be confined at little cost. The kernel stops the program before its
// first instruction. The package then moves it into its cgroup, sets its limits and reads in /proc that all of it is in
// force. A program of which that is not true is killed.
package confine
