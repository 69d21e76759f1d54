// Package compiled is shared by the runtimes of compiled languages: looking at the top level of a
// snippet, so that one without a main function can be given one ([Split], [Blank]), and turning the
// output of compilers and crashed programs into the error of an execution ([Diagnostic],
// [CompileError]).
//
// All text is the user's. Every function here takes time and memory linear in its length, never
// fails, and starts no process: text that it does not understand is left as it is.
package compiled
