// Package nomad tests the task driver on a real agent of Nomad: the jobs that are the
// documentation's examples, and what a driver has to do that they do not show.
package nomad
