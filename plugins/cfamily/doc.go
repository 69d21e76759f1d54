// Package cfamily is the language runtimes for C and C++.
//
// A snippet is a program, or the body of its main function: then it has the usual headers, its
// functions, types, constants and preprocessor lines go to the top level, and the rest becomes the
// body of main. A project is its entry together with every other source file that came with the
// request; headers are found in the working directory and in include. Uncaught exceptions and
// failed assertions become the error of the execution; a program that a signal ended otherwise says
// no more than that.
package cfamily
