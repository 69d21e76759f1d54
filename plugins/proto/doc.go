// Package proto holds the wire form of the protocol between Yurt and its language
// runtimes, generated from runtime.proto. Package plugins is the one that speaks it:
// it turns these messages into values that are checked. Nothing else imports them.
package proto

//go:generate sh generate.sh
