// Package document completes the OpenAPI document that huma makes of the operations: links from answers to the operations that can
// follow, bodies of requests that work as they stand, and the members that may be null.
package document
