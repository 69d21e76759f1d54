// Package output makes results of the logs of executions without holding all output in memory: small
// output is in a result, larger output stays in its log and is read from there, piece by piece. A
// budget of the node bounds the memory that this takes.
package output
