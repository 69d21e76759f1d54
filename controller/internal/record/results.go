package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/yurtrun/yurt"
)

// ResultTable runs statements on the tables of executions and outputs, each its own transaction.
type ResultTable interface {
	Exec(ctx context.Context, text string, args ...any) error
	Each(ctx context.Context, scan func(Row) error, text string, args ...any) error
}

// Results bounds the space that results take in a store. It implements contract.ResultStore.
type Results struct{ Table ResultTable }

// TrimResults implements contract.ResultStore.
func (r Results) TrimResults(ctx context.Context, sessionID string, most int64) (int, error) {
	const beyond = "SELECT id FROM (SELECT id, sum(kept_bytes) OVER (ORDER BY created_at DESC, id DESC) AS total FROM executions WHERE kept_bytes > 0%s) AS kept WHERE total > ?"
	text, args := fmt.Sprintf(beyond, ""), []any{most}
	if sessionID != "" {
		text, args = fmt.Sprintf(beyond, " AND session_id = ?"), []any{sessionID, most}
	}
	var ids []string
	err := r.Table.Each(ctx, func(row Row) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, text, args...)
	if err != nil {
		return 0, fmt.Errorf("finding results beyond the quota: %w", err)
	}
	for i, id := range ids {
		if err := r.trim(ctx, id); err != nil {
			return i, fmt.Errorf("dropping what execution %s printed: %w", id, err)
		}
	}
	return len(ids), nil
}

// trim keeps of a result how the execution ended, and drops its output, its value and its displays.
func (r Results) trim(ctx context.Context, id string) error {
	var body []byte
	if err := r.Table.Each(ctx, func(row Row) error { return row.Scan(&body) }, "SELECT result FROM executions WHERE id = ?", id); err != nil {
		return err
	}
	rest, err := trimmed(body)
	if err != nil {
		return err
	}
	// The result is changed first: a part of its output that stays then goes with the session.
	if err := r.Table.Exec(ctx, "UPDATE executions SET result = ?, stdout = NULL, stderr = NULL, kept_bytes = 0 WHERE id = ?", rest, id); err != nil {
		return err
	}
	return r.Table.Exec(ctx, "DELETE FROM outputs WHERE execution_id = ?", id)
}

// trimmed returns the body of a result that says of each part that it was dropped.
func trimmed(body []byte) (string, error) {
	var kept yurt.KeptResult
	if err := json.Unmarshal(body, &kept); err != nil {
		return "", fmt.Errorf("decoding a result: %w", err)
	}
	result := kept.Take()
	result.Truncated.Stdout = result.Truncated.Stdout || result.Metrics.StdoutBytes > 0
	result.Truncated.Stderr = result.Truncated.Stderr || result.Metrics.StderrBytes > 0
	result.Truncated.Result = result.Truncated.Result || len(result.Result) > 0 && string(result.Result) != "null"
	result.Truncated.Results = result.Truncated.Results || len(result.Displays) > 0
	result.Result, result.Displays, result.MainDisplay, result.Output, result.Outline = nil, nil, nil, nil, nil
	rest, err := json.Marshal(result.Kept())
	return string(rest), err
}

// DeleteResults implements contract.ResultStore.
func (r Results) DeleteResults(ctx context.Context, sessionID string) error {
	if err := r.Table.Exec(ctx, "DELETE FROM executions WHERE session_id = ? AND result IS NOT NULL", sessionID); err != nil {
		return fmt.Errorf("deleting results: %w", err)
	}
	return nil
}
