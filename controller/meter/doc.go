// Package meter records the use of sessions and tenants over time.
//
// Every five minutes the controller that leads asks the nodes for the use of each live session, and stores a sample of it and one of
// each tenant: sessions, cores, memory, workspaces. Samples are kept for 24 hours. At most [MaxSessions] sessions have samples of
// their own in a round; the sums of tenants have all of them. So the store has a bound: 288 rounds.
//
// The times of samples are multiples of the resolution. Two controllers that both lead for a moment add the same samples, and the
// store keeps one of each.
package meter
