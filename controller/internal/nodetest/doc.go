// Package nodetest is a small node for the tests of the controller and its
// transports: sandboxes and files in memory, executions from a script. Behaviour that
// only real processes have is tested on the real executor.
package nodetest
