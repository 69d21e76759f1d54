// Package proto holds the wire form of the protocol between Yurt and its language runtimes,
// generated from runtime.proto. Only package plugins imports it: it turns these messages into
// values that are checked.
package proto

//go:generate sh generate.sh
