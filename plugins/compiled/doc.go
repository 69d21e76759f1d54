// Package compiled is what the runtimes of compiled languages share: looking at the
// top level of a snippet, so that one without a main function can be given one
// ([Split], [Blank]), and turning what compilers and crashed programs print into the
// error of an execution ([Diagnostic], [CompileError]).
//
// All text is the user's. Everything here takes time and memory linear in its
// length, never fails, and starts nothing: what is not understood is left as it is.
package compiled
