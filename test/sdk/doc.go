// Package sdk holds the SDKs of all languages to the same scenarios, against a real server. README.md
// describes their form, and the runner of an SDK.
package sdk
