// Package proto holds the wire form of the executor's API, generated from
// executor.proto. Only package api imports it, and turns its messages into values
// of the domain.
package proto

//go:generate sh generate.sh
