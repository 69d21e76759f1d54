// Package conformance is the test suite for every language runtime, those that ship with Yurt and
// those of others; "yurt runtime test" runs it.
//
// A runtime brings samples, one small program for each thing that a language must be able to do
// ([Samples]); their required output is the same for all languages. Each [Case] runs one in a real
// sandbox, which the caller provides ([Target]), and reports each deviation. After each, the
// sandbox must be usable.
//
// The samples are files of these names and the language's extension, and a directory
// "project" with a file "main" and others.
//
//	snippet        prints "hello"
//	unicode        prints "grüße 🏕"
//	arguments      prints each of its arguments on a line
//	stdin          copies standard input to standard output, letters in upper case
//	exit           prints "before" and exits with 7
//	compile-error  is refused by the compiler because of its line 3
//	runtime-error  prints "before" and fails in its line 3 with the word "boom"
//	output         prints without end
//	recursion      calls itself without end; may print
//	endless        prints "begun", flushed, and never ends
//	project        prints each of its arguments on a line after "lib: ", which a function
//	               in another file puts before them
//
// A language that keeps state has two more:
//
//	state-set      makes a variable with the value 42, and prints nothing
//	state-get      prints that variable; where it is not there, fails or prints anything else
package conformance
