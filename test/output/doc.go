// Package output measures the cost of output to the server: its memory while sandboxes print as fast as they can, and its life in a
// memory cgroup that is smaller than the output of its executions.
// It has no code for other packages.
package output
