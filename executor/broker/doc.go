// Package broker is the seam of privilege: every call of the executor that needs power over the host goes through the interface
// [Broker], as one of a closed set of typed requests. Namespaces, mounts, cgroups, disks, and directories and sockets inside a
// sandbox are behind it. A request names a sandbox by its id, a layer by its digest, or a place by its kind, and carries no path, no
// process and no mount of its caller's, except for the root and the files of the host in the request for a new sandbox.
//
// [Local] carries the requests out in this process. A process of its own can take its place: no package above this one imports
// the launcher, sets up a mount or enters a namespace.
//
// Limits, freezing and the end of a whole sandbox are requests that name it by its id, see [Cgroups]. The broker finds the cgroup by
// the id, and checks limits against the bounds of all sandboxes together. Requests about runs name the sandbox and the run, see
// [RunCgroups]. The broker checks both against its own list. Usage is read from files that it has opened, see [Meter], and from the
// control files that every process may read, see [Gauge].
//
// The node's own programs, which are language runtimes and the unpacker of images, are started by their names, see [programs.Requests].
//
// The privileged calls that remain outside are in docs/adr/0023-a-broker-of-its-own.md.
package broker
