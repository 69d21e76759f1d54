// Package languages tests the runtimes of compiled languages where they belong: in
// sandboxes made of the templates that ship, with the toolchains of this host.
package languages
