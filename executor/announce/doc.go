// Package announce tells a cluster, by Consul, what a node's executor has to offer.
//
// There is one service, yurt-executor, for each node, whose check passes as long as the
// executor is there; and one key, yurt/capacity/NODE, with a [yurt.Capacity] as JSON. The
// key belongs to a session of the node's, and is gone when the executor was for a while,
// or at once when it is stopped. It is written when something changes, as often as the
// executor tells that, which is every 50 ms at the most: the cluster's consensus sees
// nodes, and never sessions.
//
// Consul may be away, restarted or without memory at any time: the executor works on, and
// what it has to offer is announced again as soon as that is possible. What Consul says is
// bounded and leads nowhere else, whoever says it in its place. The token needs
// write access to the service, the key and sessions.
package announce
