// Package lease tells the controllers of one store apart: which of them live, and which one leads.
//
// A [Members] counts up a beat in the store. Another controller takes a lease for gone when its beat stood still for
// the lease time, by its own monotonic clock. So no time is stored, no clock is compared with another's, and a clock that
// jumps changes no lease. The leader stops to believe in its own lease before any other controller may take it.
//
// A controller whose store is its own always leads. The methods of a Members may be called concurrently, but for
// [Members.Run], which is called once.
package lease
