// Package loop mounts disk images. It is apart from the package that makes them since
// the launcher links it, which starts anew for each create and pays for each package
// that it links.
package loop
