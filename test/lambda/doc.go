// Package lambda runs functions in sandboxes by the official runtime interface clients,
// fetched unmodified from where everybody gets them.
package lambda
