// Package nomad tests the task driver on a real agent of Nomad: the jobs that are the
// documentation's examples, and the duties of a driver that they do not show.
package nomad
