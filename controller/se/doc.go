// Package se serves the API of an older runtime, /workspace/se/…, on the sessions of the controller. Its
// callers choose the ids of sessions: such an id is an alias, kept as the agent of a session, and names
// the one that lives.
//
// [New] returns an [API] with the handlers by pattern. The package translates and adds no rule: it has the
// older API's names, its answers with "success", and its codes of errors.
package se
