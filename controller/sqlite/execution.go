package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

const (
	executionColumns = "id, session_id, kind, language, state, created_at"
	resultColumns    = "result, stdout, stderr"

	insertExecutionText = "INSERT INTO executions (" + executionColumns + ") VALUES (?, ?, ?, ?, ?, ?)"
	endExecutionText    = "UPDATE executions SET state = ?, result = ?, stdout = ?, stderr = ? WHERE id = ? AND result IS NULL RETURNING session_id"
	selectExecution     = "SELECT " + executionColumns + ", " + resultColumns + " FROM executions WHERE id = ? AND session_id = ?"
)

// BeginExecution implements controller.ExecutionStore.
func (s *Store) BeginExecution(ctx context.Context, e yurt.Execution, change controller.SessionChange) (yurt.Session, error) {
	var session yurt.Session
	err := s.transact(ctx, func(tx *transaction) (err error) {
		if session, err = changeSession(ctx, tx, e.SessionID, 1, change); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, insertExecutionText, e.ID, e.SessionID, e.Kind, e.Language, e.State, e.CreatedAt.UnixNano())
		if err != nil {
			return fmt.Errorf("adding an execution: %w", err)
		}
		return nil
	})
	return session, err
}

// EndExecution implements controller.ExecutionStore.
func (s *Store) EndExecution(ctx context.Context, id string, result *yurt.Result, change controller.SessionChange) (yurt.Session, bool, error) {
	rest := *result
	rest.Stdout, rest.Stderr = "", ""
	body, err := json.Marshal(rest)
	if err != nil {
		return yurt.Session{}, false, fmt.Errorf("encoding a result: %w", err)
	}
	var (
		session yurt.Session
		ended   bool
	)
	err = s.transact(ctx, func(tx *transaction) error {
		sessionID, err := storeResult(ctx, tx, id, result, body)
		if err != nil || sessionID == "" {
			return err
		}
		ended = true
		session, err = changeSession(ctx, tx, sessionID, 0, change)
		return err
	})
	return session, ended && err == nil, err
}

// storeResult stores the first result of an execution and returns its session, or
// "" when there is a result already.
func storeResult(ctx context.Context, tx *transaction, id string, result *yurt.Result, body []byte) (sessionID string, err error) {
	err = tx.QueryRowContext(ctx, endExecutionText,
		result.State(), string(body), []byte(result.Stdout), []byte(result.Stderr), id).Scan(&sessionID)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, "SELECT '' FROM executions WHERE id = ?", id).Scan(&sessionID)
		if errors.Is(err, sql.ErrNoRows) {
			return "", executionNotFound(id)
		}
	}
	if err != nil {
		return "", fmt.Errorf("storing a result: %w", err)
	}
	return sessionID, nil
}

func executionNotFound(id string) error {
	return yurt.Errorf(yurt.CodeExecutionNotFound, "execution %s does not exist in this session", id)
}

// Execution implements controller.ExecutionStore.
func (s *Store) Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	e, err := scanWithResult(s.read.QueryRowContext(ctx, selectExecution, id, sessionID))
	if errors.Is(err, sql.ErrNoRows) {
		return yurt.Execution{}, executionNotFound(id)
	}
	return e, err
}

// LatestExecution implements controller.ExecutionStore.
func (s *Store) LatestExecution(ctx context.Context, sessionID string) (yurt.Execution, error) {
	row := s.read.QueryRowContext(ctx, "SELECT "+executionColumns+", "+resultColumns+
		" FROM executions WHERE session_id = ? ORDER BY created_at DESC, id DESC LIMIT 1", sessionID)
	e, err := scanWithResult(row)
	if errors.Is(err, sql.ErrNoRows) {
		return yurt.Execution{}, yurt.Errorf(yurt.CodeExecutionNotFound, "session %s has executed nothing yet", sessionID)
	}
	return e, err
}

// Executions implements controller.ExecutionStore.
func (s *Store) Executions(ctx context.Context, sessionID string, before controller.Position, n int) ([]yurt.Execution, error) {
	var where conditions
	where.add("session_id = ?", sessionID)
	where.before(before)
	return s.queryExecutions(ctx, where.sql()+" ORDER BY created_at DESC, id DESC"+limit(n), where.args...)
}

// UnfinishedExecutions implements controller.ExecutionStore.
func (s *Store) UnfinishedExecutions(ctx context.Context, sessionID string) ([]yurt.Execution, error) {
	var where conditions
	where.add("result IS NULL")
	if sessionID != "" {
		where.add("session_id = ?", sessionID)
	}
	return s.queryExecutions(ctx, where.sql(), where.args...)
}

func (s *Store) queryExecutions(ctx context.Context, tail string, args ...any) ([]yurt.Execution, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+executionColumns+" FROM executions"+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("listing executions: %w", err)
	}
	defer rows.Close()
	var list []yurt.Execution
	for rows.Next() {
		e, err := scanExecution(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// scanExecution reads the columns of an execution and then the more that are asked
// for.
func scanExecution(row interface{ Scan(dest ...any) error }, more ...any) (yurt.Execution, error) {
	var (
		e       yurt.Execution
		created int64
	)
	dest := append([]any{&e.ID, &e.SessionID, &e.Kind, &e.Language, &e.State, &created}, more...)
	if err := row.Scan(dest...); err != nil {
		return yurt.Execution{}, fmt.Errorf("reading an execution: %w", err)
	}
	e.CreatedAt = fromNanos(created)
	return e, nil
}

func scanWithResult(row *sql.Row) (yurt.Execution, error) {
	var body, stdout, stderr []byte
	e, err := scanExecution(row, &body, &stdout, &stderr)
	if err != nil || body == nil {
		return e, err
	}
	e.Result = &yurt.Result{}
	if err := json.Unmarshal(body, e.Result); err != nil {
		return yurt.Execution{}, fmt.Errorf("decoding a result: %w", err)
	}
	e.Result.Stdout, e.Result.Stderr = string(stdout), string(stderr)
	return e, nil
}
