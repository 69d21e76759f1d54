// Package proto holds the wire form of the executor's API, generated from
// executor.proto. Package api is the one that speaks it: it turns these messages into
// values of the domain. Nothing else imports them.
package proto

//go:generate sh generate.sh
