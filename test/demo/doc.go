// Command demo shows Yurt at work: it starts "yurt dev" beside it, drives it over
// REST as any client would, and prints each request, its answer and what that
// proves. Nothing in it is canned: every line shown came back from the server, every
// claim is checked first, and the first that does not hold ends the demo with exit
// code 1.
package main
