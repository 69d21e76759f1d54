// Package yurtcluster runs a whole cluster of Yurt for tests and the benchmark: Consul, Nomad with
// the driver, the executors that the driver starts, and controllers, each the real program. [Start]
// is for programs, [Test] for tests, which fail if it leaves remains.
package yurtcluster
