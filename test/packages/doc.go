// Package packages tests that packages which code needs are installed by the package manager of its
// language, from the real registries, once; and that packages which attack while they are installed
// do no harm.
package packages
