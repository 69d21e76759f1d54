// Package quota bounds the use of each tenant: sessions, creates a minute, processors, memory, disk, executions and stored results.
//
// A store enforces the quotas of sessions and executions in the transaction that adds one: it holds a lock on the tenant, adds up
// its sessions and executions, and asks [AdmitSession] or [AdmitExecution]. So quotas hold at any number of controllers, and a tenant without
// quotas pays for a look at an empty row. The quota of stored results is looked at every 5 s, by a [Guard], since adding them up
// takes as long as there are results.
//
// [Tenants] sets quotas for an operator, and tells each tenant its use.
package quota
