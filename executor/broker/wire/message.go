package wire

import (
	"encoding/json"

	"github.com/yurtrun/yurt/executor/failure"
)

// message is a request, in the direction of the broker. Its number is that of its answer.
type message struct {
	ID   uint64          `json:"id"`
	Kind kind            `json:"kind"`
	Args json.RawMessage `json:"args,omitempty"`
}

// answer is the end of a request: its error, or its value where it has one.
type answer struct {
	ID    uint64           `json:"id"`
	Error *failure.Failure `json:"error,omitempty"`
	Value json.RawMessage  `json:"value,omitempty"`
}
