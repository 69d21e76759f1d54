// Package output makes results of the logs of executions without holding what was printed: small
// output is in a result, larger output stays in its log and is read from there, piece by piece. A
// budget of the node bounds what is in memory meanwhile.
package output
