package postgres

import (
	"context"
	"errors"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// Exec implements [record.ResultTable].
func (t outputTable) Exec(ctx context.Context, text string, args ...any) error {
	_, err := t.s.exec(ctx, "bounding results", text, args...)
	return err
}

// Each implements [record.ResultTable].
func (t outputTable) Each(ctx context.Context, scan func(record.Row) error, text string, args ...any) error {
	_, err := list(ctx, t.s, "bounding results", text, args, func(row record.Row) (struct{}, error) { return struct{}{}, scan(row) })
	return err
}

// outputTable keeps large output. Each row is its own transaction. One whose answer was lost is as it should be when it is
// written again.
type outputTable struct{ s *Store }

var _ record.OutputTable = outputTable{}

// PutOutput implements [record.OutputTable].
func (t outputTable) PutOutput(ctx context.Context, id, executionID string, stream, number int, data []byte) error {
	_, err := t.s.exec(ctx, "storing output", "INSERT INTO outputs (id, execution_id, stream, number, data) SELECT ?, id, ?, ?, ? FROM executions WHERE id = ? ON CONFLICT DO NOTHING",
		id, stream, number, data, executionID)
	return err
}

// Output implements [record.OutputTable].
func (t outputTable) Output(ctx context.Context, id string, stream, number int) ([]byte, error) {
	data, ok, err := first(ctx, t.s, "reading output", "SELECT data FROM outputs WHERE id = ? AND stream = ? AND number = ?", []any{id, stream, number},
		func(row record.Row) (data []byte, err error) { return data, row.Scan(&data) })
	if err == nil && !ok {
		err = errors.New("a part of it is not there any more")
	}
	return data, err
}

// DropOutput implements [record.OutputTable].
func (t outputTable) DropOutput(ctx context.Context, id string) error {
	_, err := t.s.exec(ctx, "dropping output", "DELETE FROM outputs WHERE id = ?", id)
	return err
}

// withResult returns the function that reads an execution with its result.
func withResult(s *Store) func(row record.Row) (yurt.Execution, error) {
	return func(row record.Row) (yurt.Execution, error) { return record.ScanWithResult(row, outputTable{s}) }
}
