// Package arch holds the rules of this repository that a compiler does not know:
// who may import whom and why, which licences may be linked, that every package
// says what it is for, and a few habits of tests.
//
// The rules are ordinary functions over a [Package] or a file, so that each is
// itself tested on an example that breaks it; the tests then apply them to the
// whole module. A failure says which rule, where, and the reason for the rule.
package arch
