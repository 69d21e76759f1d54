// Package packages tests that packages which code needs are installed by the package
// manager of its language, from the real registries, once; and that nothing comes of
// packages that attack while they are installed.
package packages
