// Package packages is what a node does about the packages that code needs: how they may be
// installed, which layers an execution needs of them, and that each is made once, for all who
// wait for it, as often at once as the node and each sandbox may. What an installation is, the
// executor says, which carries it out in a sandbox for that alone; what it leaves is kept by
// package layers, and its way out is package egress.
package packages
