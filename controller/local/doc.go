// Package local places sessions on the executor of this machine, which runs in the
// same process: no scheduler, one node, every placement cold.
package local
