// Package e2e tests Yurt as its users meet it: the built binaries, a real server, real sandboxes,
// and no fakes in between. The promises of one part alone are tested with that part; here are those
// that need all of them, above all that runs do not mix, that a crash loses no session, and that
// sessions leave no remains.
package e2e
