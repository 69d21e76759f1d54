// Package e2e tests Yurt as its users meet it: the built binaries, a real server,
// real sandboxes, and nothing in between. What one part promises alone is tested
// with that part; here is what needs all of them, above all that runs do not mix,
// that nothing is lost in a crash, and that nothing is left behind.
package e2e
