package sqlite

import (
	"context"

	"github.com/yurtrun/yurt/controller/internal/record"
)

const selectOutput = "SELECT data FROM outputs WHERE id = ? AND stream = ? AND number = ?"

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
