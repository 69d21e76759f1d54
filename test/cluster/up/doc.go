// Command up starts a whole cluster of Yurt on this machine for a first try: one Consul, one Nomad with the task driver
// (which starts the node's executor), and a controller; executor and controller know each other by certificates. It prints
// the addresses and the first steps, and when it is told to end it ends and removes all of it. "make cluster" runs it. It
// is made of package cluster, as the tests are, and needs root.
package main
