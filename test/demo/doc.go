// Command demo shows Yurt at work: it starts "yurt dev" beside it, drives it over REST as any
// client would, and prints each request, its answer and the claim that this proves. It has no
// canned output: every line shown came back from the server, every claim is checked first, and the
// first that does not hold ends the demo with exit code 1.
package main
