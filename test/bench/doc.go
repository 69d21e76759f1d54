// Command bench measures Yurt beside its peers, on the same machine and in the same
// run, and prints the two side by side, with the goal of each row and where the time
// of one create goes.
//
// Each row's own operation and those of its peers take turns, with a pause between them, so that
// other load of the machine hits all alike. `make bench` runs it; BENCH is a regular expression
// that picks rows.
package main
