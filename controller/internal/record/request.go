package record

import (
	"encoding/json"
	"fmt"

	"github.com/yurtrun/yurt/controller/once"
)

const (
	// ClaimRequest adds a request with an idempotency key, unless there is one with that key.
	ClaimRequest = "INSERT INTO requests (key, claim, request_hash, at) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
	// SelectRequest reads the request with a key.
	SelectRequest = "SELECT key, claim, request_hash, at, answer FROM requests WHERE key = ?"
	// AnswerRequest stores the answer to a request.
	AnswerRequest = "UPDATE requests SET answer = ? WHERE key = ? AND claim = ?"
	// ReleaseRequest removes a request without an answer.
	ReleaseRequest = "DELETE FROM requests WHERE key = ? AND claim = ? AND answer IS NULL"
	// PurgeRequests removes at most so many requests from before a time, or older than so many others.
	PurgeRequests = `DELETE FROM requests WHERE key IN (SELECT key FROM requests
		WHERE at < ? OR at <= (SELECT at FROM requests ORDER BY at DESC LIMIT 1 OFFSET ?) ORDER BY at LIMIT ?)`
)

// RequestValues returns the stored values of a request without an answer.
func RequestValues(r once.Record) []any { return []any{r.Key, r.Claim, r.Hash, r.At.UnixNano()} }

// AnswerValue returns the stored value of an answer.
func AnswerValue(answer once.Answer) ([]byte, error) {
	value, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer to a request: %w", err)
	}
	return value, nil
}

// ScanRequest reads the columns of a request.
func ScanRequest(row Row) (r once.Record, err error) {
	var (
		at     int64
		answer []byte
	)
	if err := row.Scan(&r.Key, &r.Claim, &r.Hash, &at, &answer); err != nil {
		return r, err
	}
	r.At = FromNanos(at)
	if answer == nil {
		return r, nil
	}
	r.Answer = &once.Answer{}
	return r, json.Unmarshal(answer, r.Answer)
}
