// Package golang is the language runtime for Go.
//
// A snippet is a program, or the text of one: without a package clause its imports, functions,
// types and constants go to the top level and the rest becomes the main function (wrap.go). A
// project is the package of its entry's directory, in the module whose go.mod is in that directory
// or above it; a project without one is the module "app". build.sh has the go command build either,
// with the standard library taken from a cache that is made ahead where there is one. Panics and
// fatal errors of the Go runtime become the error of the execution.
package golang
