// Package executor owns the sandboxes of one node: it makes them, runs things in
// them, keeps what came of that, and removes them.
//
// It knows nothing of sessions, their owners, Nomad or Consul (package announce, beside
// it, tells Consul what it has to offer). Controllers and the
// driver call [Executor]'s methods, which may be called concurrently and return
// errors that carry a [yurt.Code].
//
// What it must remember is on disk before it is relied on, and sandboxes do not
// depend on the process: killed at any moment and started again on the same state
// directory, the executor finds every sandbox that lives, goes on with the
// executions that run in them, and removes what was half made.
//
// The parts below it: launch starts sandboxes in a separate process, libcontainer
// is that process; oci and rootfs say what a sandbox is made of; cgroup limits,
// measures and kills; initd talks to its first process; runlog keeps the output;
// workspace is its files; records is what must outlive this process. docs/ARCHITECTURE.md
// has them all, by subject.
package executor
