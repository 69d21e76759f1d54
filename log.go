package yurt

import "time"

// LogEntry is a piece of the output of an execution of a session.
type LogEntry struct {
	ExecutionID string    `json:"execution_id"`
	Type        EventType `json:"type"` // stdout or stderr
	At          time.Time `json:"at"`
	Data        []byte    `json:"-"`
}

// Bounds of how much output the log of a session shows, in bytes.
const (
	DefaultLogBytes = 256 << 10
	MaxLogBytes     = 16 << 20
)
