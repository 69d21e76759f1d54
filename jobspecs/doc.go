// Package jobspecs holds the jobs of this project for Nomad: the files are both the
// examples of the documentation and the jobs that programs and tests register.
//
// The controller takes the one for sessions from here unless its operator gives another.
// The package computes no values: a file means what its text says.
package jobspecs

import "embed"

//go:embed session.nomad.hcl
var session string

//go:embed controller.nomad.hcl
var controller string

//go:embed *.nomad.hcl
var files embed.FS

// Session returns the job that a controller registers for each slot.
func Session() string { return session }

// Example returns the job in the file of that name, such as "hello".
func Example(name string) (string, error) {
	text, err := files.ReadFile(name + ".nomad.hcl")
	return string(text), err
}

// Controller returns the job that runs controllers.
func Controller() string { return controller }
