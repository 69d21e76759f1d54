package record

import (
	"encoding/json"
	"fmt"

	"github.com/yurtrun/yurt"
)

const (
	// ExecutionColumns are the columns of an execution without its result, in the order
	// of [ExecutionValues] and [ScanExecution].
	ExecutionColumns = "id, session_id, kind, language, state, created_at, owner"
	// ResultColumns are those of its result, which follow them in [ScanWithResult]. The
	// output is apart from the rest, since it need not be text.
	ResultColumns = "result, stdout, stderr"
)

// ExecutionValues returns the stored values of an execution that begins.
func ExecutionValues(e yurt.Execution) []any {
	return []any{e.ID, e.SessionID, string(e.Kind), e.Language, string(e.State), e.CreatedAt.UnixNano(), e.Owner}
}

// ResultValues returns the stored values of a result: the state, and then the values of [ResultColumns]; and the number of bytes
// of all of it. outputID names the rows that [OutputWriter.Store] wrote; if it is empty the output is in the values.
func ResultValues(result *yurt.Result, outputID string) ([]any, error) {
	rest := *result
	rest.Stdout, rest.Stderr = "", ""
	kept := rest.Kept()
	kept.Apart = nil
	if kept.OutputID = outputID; outputID != "" {
		kept.Apart = &[2]int64{result.OutputBytes(yurt.EventStdout), result.OutputBytes(yurt.EventStderr)}
	}
	body, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("encoding a result: %w", err)
	}
	size := int64(len(body)) + result.OutputBytes(yurt.EventStdout) + result.OutputBytes(yurt.EventStderr)
	if outputID != "" {
		return []any{string(result.State()), string(body), nil, nil, size}, nil
	}
	return []any{string(result.State()), string(body), []byte(result.Stdout), []byte(result.Stderr), size}, nil
}

// ScanExecution reads the columns of an execution and then the more that are asked
// for.
func ScanExecution(row Row, more ...any) (yurt.Execution, error) {
	var (
		e       yurt.Execution
		created int64
	)
	dest := append([]any{&e.ID, &e.SessionID, &e.Kind, &e.Language, &e.State, &created, &e.Owner}, more...)
	if err := row.Scan(dest...); err != nil {
		return yurt.Execution{}, fmt.Errorf("reading an execution: %w", err)
	}
	e.CreatedAt = FromNanos(created)
	return e, nil
}

// ScanWithResult reads the columns of an execution and those of its result. Large output is read from the table when it
// is asked for.
func ScanWithResult(row Row, table OutputTable) (yurt.Execution, error) {
	var body, stdout, stderr []byte
	e, err := ScanExecution(row, &body, &stdout, &stderr)
	if err != nil || body == nil {
		return e, err
	}
	var kept yurt.KeptResult
	if err := json.Unmarshal(body, &kept); err != nil {
		return yurt.Execution{}, fmt.Errorf("decoding a result: %w", err)
	}
	e.Result = kept.Take()
	if kept.OutputID != "" && kept.Apart != nil {
		e.Result.Output = outputOf(table, kept.OutputID, *kept.Apart)
		return e, nil
	}
	e.Result.Stdout, e.Result.Stderr = string(stdout), string(stderr)
	return e, nil
}

// ExecutionNotFound is the error for an execution that is not in the session.
func ExecutionNotFound(id string) error {
	return yurt.Errorf(yurt.CodeExecutionNotFound, "execution %s does not exist in this session", id)
}

// NothingExecuted is the error for a session that has no execution yet.
func NothingExecuted(sessionID string) error {
	return yurt.Errorf(yurt.CodeExecutionNotFound, "session %s has no execution yet", sessionID)
}
