// Package loop mounts disk images. It is apart from the package that makes them since
// the launcher links it, which is started anew on each create: what it links is paid
// each time.
package loop
