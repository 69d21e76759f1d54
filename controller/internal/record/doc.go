// Package record says how the controller's stores lay sessions and executions out in
// the columns of a table, which is the same for every database.
//
// Times are nanoseconds since 1970 in UTC, durations nanoseconds, sizes bytes, maps and
// other structures JSON. Statements are the business of each store.
package record
