// Package matrix holds one test: on one whole cluster (two controllers with PostgreSQL, two nodes, three servers
// of Nomad and of Consul, each node and each pair of servers on a host of its own) callers create sessions, run
// commands in them and end them, while one part after the other is killed, cut off or slowed down. "make faults"
// prints the outcome, a row for each fault.
//
// Held against every row: no session is lost but those of a lost node; every execution that was acknowledged has
// run exactly once and the others at most once, by the lines that each has written into its session; every answer
// is right; errors are of the declared kinds; sessions have left no remains a minute after; and every caller gets
// on again.
package matrix
