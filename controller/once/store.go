package once

import (
	"context"
	"time"
)

// Record is a request that was sent with a key.
type Record struct {
	Key    string // of the caller, see [keyOf]
	Claim  string // tells requests with the same key apart
	Hash   string // of the request
	At     time.Time
	Answer *Answer // nil until it is there
}

// Answer is the answer to a request.
type Answer struct {
	Status   int    `json:"status,omitempty"`
	Type     string `json:"type,omitempty"` // of the body
	Location string `json:"location,omitempty"`
	Body     []byte `json:"body,omitempty"`
	// Dropped says that Body is not kept: it is large, or has a secret.
	Dropped bool `json:"dropped,omitempty"`
	// Execution is the execution that the request began; its result is the answer.
	Execution string `json:"execution,omitempty"`
}

// Store keeps requests. Package controller/storetest holds every implementation to this.
type Store interface {
	// ClaimRequest adds a request, unless there is one with its key. It returns the one that is there then.
	ClaimRequest(ctx context.Context, r Record) (Record, error)
	// AnswerRequest stores the answer to a request.
	AnswerRequest(ctx context.Context, r Record, answer Answer) error
	// ReleaseRequest removes a request without an answer.
	ReleaseRequest(ctx context.Context, r Record) error
	// PurgeRequests removes the requests from before a time, and all but so many of the newest. It returns how many it removed, which
	// is at most limit.
	PurgeRequests(ctx context.Context, before time.Time, newest, limit int) (int, error)
}
