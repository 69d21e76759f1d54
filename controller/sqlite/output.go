package sqlite

import (
	"context"

	"github.com/yurtrun/yurt/controller/internal/record"
)

const selectOutput = "SELECT data FROM outputs WHERE id = ? AND stream = ? AND number = ?"

// Exec implements [record.ResultTable].
func (t outputTable) Exec(ctx context.Context, text string, args ...any) error {
	_, err := t.s.write.exec(ctx, text, args...)
	return err
}

// Each implements [record.ResultTable].
func (t outputTable) Each(ctx context.Context, scan func(record.Row) error, text string, args ...any) error {
	rows, err := t.s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return explain(err)
		}
	}
	return explain(rows.Err())
}

// outputTable keeps large output. Each row is its own transaction, so that others write between two.
type outputTable struct{ s *Store }

var _ record.OutputTable = outputTable{}

// PutOutput implements [record.OutputTable].
func (t outputTable) PutOutput(ctx context.Context, id, executionID string, stream, number int, data []byte) error {
	_, err := t.s.write.exec(ctx, "INSERT INTO outputs (id, execution_id, stream, number, data) VALUES (?, ?, ?, ?, ?)", id, executionID, stream, number, data)
	return err
}

// Output implements [record.OutputTable].
func (t outputTable) Output(ctx context.Context, id string, stream, number int) (data []byte, err error) {
	return data, t.s.read.QueryRowContext(ctx, selectOutput, id, stream, number).Scan(&data)
}

// DropOutput implements [record.OutputTable].
func (t outputTable) DropOutput(ctx context.Context, id string) error {
	_, err := t.s.write.exec(ctx, "DELETE FROM outputs WHERE id = ?", id)
	return err
}
