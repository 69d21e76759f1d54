// Package sdk holds the SDKs of all languages to the same scenarios, against a real server. README.md
// says how they are written, and what the runner of an SDK does.
package sdk
