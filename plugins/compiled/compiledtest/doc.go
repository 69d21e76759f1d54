// Package compiledtest carries out the plans of compiled languages in tests, with the
// toolchains of this host and without a sandbox: the code in those tests is ours.
package compiledtest
