// Package sessions tests sessions on a real cluster: Consul, Nomad with the driver, the
// executors that it starts, and yurt controller.
package sessions
