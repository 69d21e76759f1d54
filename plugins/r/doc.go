// Package r is the language runtime for R.
//
// A fresh run is a program in R that evaluates the user's at the top level, and so prints as R's
// console does. A context is an interpreter that lasts; both are written in R without packages
// beside its own.
package r
