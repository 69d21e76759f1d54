// Command up starts a whole cluster of Yurt on this machine for somebody to try: one
// Consul, one Nomad with the task driver (which starts the node's executor), and a
// controller; executor and controller know each other by certificates. It prints where everything is and what to do first,
// and when it is told to end it ends all of it and leaves nothing behind. "make cluster"
// runs it. It is made of package cluster, as the tests are, and needs root.
package main
