// Package accounts adds the operations on API keys to the REST API.
//
// It translates and adds no rule: package controller/auth decides which keys a caller may make, see and revoke. The key itself is
// in the answer to its creation and in no other.
package accounts
