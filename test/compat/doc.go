// Package compat holds the everyday work in sandboxes: install packages, compile, commit, debug. A
// list of system calls so tight that one of these breaks is a fault, as one that lets an attack
// through is; the tests run each in a real sandbox.
package compat
