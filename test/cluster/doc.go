// Package cluster runs real agents of Nomad and Consul for tests, the benchmark and
// "make cluster": servers and clients on this machine, several side by side, or on hosts
// of their own (network namespaces that can be slowed down and cut off).
//
// [Nomad] and [Consul] are for tests: they start the agents, wait until these can be used, and when the test ends stop every
// job and agent and fail the test if they leave remains: a process, a mount, a cgroup. [StartNomad] and [StartConsul] are the
// same for programs. [Vault] is a server of Vault for a test. An agent is killed, as by a crash, with its Kill, and started
// again on the same data directory with Start.
//
// Every agent has a loopback address of its own (127.x.y.z), so its ports are the usual ones and any number of tests can run
// at once; directories of its own; and on a Nomad client a parent cgroup of its own. The output of an agent goes to a file in
// its directory, which a failing test shows. All of it needs root. The programs come from scripts/engines, which builds them
// on first use. Yurt does not link this package.
package cluster
