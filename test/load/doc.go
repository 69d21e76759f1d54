// Package load tests a server of many tenants under load and abuse: the built program, with keys and quotas on. It measures the delay
// of well-behaved clients beside a crowd, and the memory, descriptors and goroutines of the server.
package load
