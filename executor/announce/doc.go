// Package announce tells a cluster, by Consul, the capacity of a node's executor.
//
// Each node has one service, yurt-executor, whose check passes as long as the executor is there; and one key,
// yurt/capacity/NODE, with a [yurt.Capacity] as JSON. The key belongs to a session of the node's, and is gone when the executor
// was away for a while, or at once when it is stopped. It is written on change, every 50 ms at the most: the cluster's consensus
// sees nodes, and never sessions.
//
// Consul may be away, restarted or without memory at any time: the executor works on, and announces its capacity again as soon
// as it can. Answers of Consul, or of a server in its place, are bounded and lead nowhere else. The token needs write access to
// the service, the key and sessions.
package announce
