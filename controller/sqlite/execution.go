package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

const (
	insertExecutionText = "INSERT INTO executions (" + record.ExecutionColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?)"
	endExecutionText    = "UPDATE executions SET state = ?, result = ?, stdout = ?, stderr = ?, kept_bytes = ? WHERE id = ? AND result IS NULL RETURNING session_id"
	selectExecution     = "SELECT " + record.ExecutionColumns + ", " + record.ResultColumns + " FROM executions WHERE id = ? AND session_id = ?"
)

// BeginExecution implements contract.ExecutionStore.
func (s *Store) BeginExecution(ctx context.Context, e yurt.Execution, change contract.SessionChange) (yurt.Session, error) {
	var after kept
	err := s.write.transact(ctx, func(tx *transaction) (err error) {
		if after, _, err = s.load(tx, e.SessionID); err != nil {
			return err
		}
		after.running++
		if err := admitExecution(tx, after.session.Tenant); err != nil {
			return err
		}
		if err := after.step(tx, change); err != nil {
			return err
		}
		if _, err = tx.exec(insertExecutionText, record.ExecutionValues(e)...); err != nil {
			return fmt.Errorf("adding an execution: %w", err)
		}
		return nil
	}, s.keep(&after))
	if err != nil {
		return yurt.Session{}, err
	}
	return after.session, nil
}

// EndExecution implements contract.ExecutionStore. Large output is stored first.
func (s *Store) EndExecution(ctx context.Context, id string, result *yurt.Result, change contract.SessionChange) (yurt.Session, bool, error) {
	outputID, err := s.output.Store(ctx, id, result)
	if err != nil {
		return yurt.Session{}, false, s.unlessUnknown(ctx, id, err)
	}
	session, ended, err := s.endExecution(ctx, id, result, outputID, change)
	if outputID != "" && (err != nil || !ended) {
		_ = outputTable{s}.DropOutput(context.WithoutCancel(ctx), outputID) // what stays goes with the session
	}
	return session, ended, err
}

// unlessUnknown returns the error, or that there is no such execution.
func (s *Store) unlessUnknown(ctx context.Context, id string, err error) error {
	var there bool
	if failure := s.read.QueryRowContext(ctx, "SELECT count(*) > 0 FROM executions WHERE id = ?", id).Scan(&there); failure == nil && !there {
		return record.ExecutionNotFound(id)
	}
	return err
}

func (s *Store) endExecution(ctx context.Context, id string, result *yurt.Result, outputID string, change contract.SessionChange) (yurt.Session, bool, error) {
	values, err := record.ResultValues(result, outputID)
	if err != nil {
		return yurt.Session{}, false, err
	}
	var after kept
	err = s.write.transact(ctx, func(tx *transaction) error {
		tx.ends = sizeOf(values) <= smallResult
		sessionID, err := storeResult(tx, id, values)
		if err != nil || sessionID == "" {
			return err
		}
		var cached bool
		if after, cached, err = s.load(tx, sessionID); err != nil {
			return err
		}
		if cached { // the file counts it no longer
			after.running--
		}
		return after.step(tx, change)
	}, s.keep(&after))
	if err != nil {
		return yurt.Session{}, false, err
	}
	return after.session, after.session.ID != "", nil
}

// smallResult is how large a result may be, in bytes, that is stored on the room for ends.
const smallResult = 64 << 10

// sizeOf returns how many bytes of text are among the values.
func sizeOf(values []any) (n int) {
	for _, value := range values {
		switch v := value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// storeResult stores the first result of an execution and returns its session, or
// "" when there is a result already.
func storeResult(tx *transaction, id string, values []any) (sessionID string, err error) {
	err = tx.row(endExecutionText, append(values, id)...).Scan(&sessionID)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.row("SELECT '' FROM executions WHERE id = ?", id).Scan(&sessionID)
		if errors.Is(err, sql.ErrNoRows) {
			return "", record.ExecutionNotFound(id)
		}
	}
	if err != nil {
		return "", fmt.Errorf("storing a result: %w", err)
	}
	return sessionID, nil
}

// Execution implements contract.ExecutionStore.
func (s *Store) Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	e, err := record.ScanWithResult(s.read.QueryRowContext(ctx, selectExecution, id, sessionID), outputTable{s})
	if errors.Is(err, sql.ErrNoRows) {
		return yurt.Execution{}, record.ExecutionNotFound(id)
	}
	return e, err
}

// LatestExecution implements contract.ExecutionStore.
func (s *Store) LatestExecution(ctx context.Context, sessionID string) (yurt.Execution, error) {
	row := s.read.QueryRowContext(ctx, "SELECT "+record.ExecutionColumns+", "+record.ResultColumns+
		" FROM executions WHERE session_id = ?"+record.NewestFirst+" LIMIT 1", sessionID)
	e, err := record.ScanWithResult(row, outputTable{s})
	if errors.Is(err, sql.ErrNoRows) {
		return yurt.Execution{}, record.NothingExecuted(sessionID)
	}
	return e, err
}

// Executions implements contract.ExecutionStore.
func (s *Store) Executions(ctx context.Context, sessionID string, query contract.ExecutionQuery) ([]yurt.Execution, error) {
	var where record.Conditions
	where.Executions(sessionID, query)
	return s.queryExecutions(ctx, where.SQL()+record.NewestFirst+record.Limit(query.Limit), where.Args...)
}

// UnfinishedExecutions implements contract.ExecutionStore.
func (s *Store) UnfinishedExecutions(ctx context.Context, sessionID string) ([]yurt.Execution, error) {
	var where record.Conditions
	where.Add("result IS NULL")
	if sessionID != "" {
		where.Add("session_id = ?", sessionID)
	}
	return s.queryExecutions(ctx, where.SQL(), where.Args...)
}

func (s *Store) queryExecutions(ctx context.Context, tail string, args ...any) ([]yurt.Execution, error) {
	return list(ctx, s.read, "listing executions", "SELECT "+record.ExecutionColumns+" FROM executions"+tail, args, func(row record.Row) (yurt.Execution, error) {
		return record.ScanExecution(row)
	})
}

// OwnExecution implements contract.ExecutionStore.
func (s *Store) OwnExecution(ctx context.Context, id, from, to string) (bool, error) {
	result, err := s.write.exec(ctx, "UPDATE executions SET owner = ? WHERE id = ? AND owner = ? AND result IS NULL", to, id, from)
	if err != nil {
		return false, fmt.Errorf("giving an execution another owner: %w", err)
	}
	changed, err := result.RowsAffected()
	return changed == 1, err
}
