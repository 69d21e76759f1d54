package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

const (
	selectExecutions = "SELECT " + record.ExecutionColumns + " FROM executions"
	selectWithResult = "SELECT " + record.ExecutionColumns + ", " + record.ResultColumns + " FROM executions"
)

// BeginExecution implements contract.ExecutionStore.
func (s *Store) BeginExecution(ctx context.Context, e yurt.Execution, change contract.SessionChange) (yurt.Session, error) {
	step := step{id: e.SessionID, change: change, more: 1}
	var admission admission
	read := func(reads *pgx.Batch) {
		step.read(reads)
		admission.readExecution(reads, e.SessionID)
	}
	err := s.transact(ctx, "adding an execution", read, func(writes *pgx.Batch) error {
		if err := admission.admitExecution(); err != nil {
			return err
		}
		if err := step.decide(writes); err != nil {
			return err
		}
		queue(writes, "INSERT INTO executions ("+record.ExecutionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?)", record.ExecutionValues(e)...)
		return nil
	})
	return step.session, err
}

// EndExecution implements contract.ExecutionStore. Large output is stored first. It locks the session before the
// execution, as all do.
func (s *Store) EndExecution(ctx context.Context, id string, result *yurt.Result, change contract.SessionChange) (yurt.Session, bool, error) {
	outputID, err := s.output.Store(ctx, id, result)
	if err != nil {
		return yurt.Session{}, false, err
	}
	session, ended, err := s.endExecution(ctx, id, result, outputID, change)
	if outputID != "" && (err != nil || !ended) {
		_ = outputTable{s}.DropOutput(context.WithoutCancel(ctx), outputID) // what stays goes with the session
	}
	return session, ended, err
}

func (s *Store) endExecution(ctx context.Context, id string, result *yurt.Result, outputID string, change contract.SessionChange) (yurt.Session, bool, error) {
	values, err := record.ResultValues(result, outputID)
	if err != nil {
		return yurt.Session{}, false, err
	}
	var (
		step         = step{change: change, more: -1} // itself, which has not ended yet
		found, ended bool
	)
	read := func(reads *pgx.Batch) {
		found, ended, step.found = false, false, false
		queue(reads, selectSessions+" WHERE id = (SELECT session_id FROM executions WHERE id = ?) FOR UPDATE", id).QueryRow(step.scan)
		queue(reads, "SELECT count(*) FROM executions WHERE session_id = (SELECT session_id FROM executions WHERE id = ?) AND result IS NULL", id).QueryRow(step.count)
		queue(reads, "SELECT result IS NOT NULL FROM executions WHERE id = ?", id).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&ended)
			found = err == nil
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	}
	err = s.transact(ctx, "storing a result", read, func(writes *pgx.Batch) error {
		if !found {
			return record.ExecutionNotFound(id)
		}
		if ended {
			return nil
		}
		queue(writes, "UPDATE executions SET state = ?, result = ?, stdout = ?, stderr = ?, kept_bytes = ? WHERE id = ?", append(values, id)...)
		return step.decide(writes)
	})
	if err != nil || ended {
		return yurt.Session{}, false, err
	}
	return step.session, true, nil
}

// Execution implements contract.ExecutionStore.
func (s *Store) Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	e, ok, err := first(ctx, s, "reading an execution", selectWithResult+" WHERE id = ? AND session_id = ?", []any{id, sessionID}, withResult(s))
	if err == nil && !ok {
		err = record.ExecutionNotFound(id)
	}
	return e, err
}

// LatestExecution implements contract.ExecutionStore.
func (s *Store) LatestExecution(ctx context.Context, sessionID string) (yurt.Execution, error) {
	e, ok, err := first(ctx, s, "reading an execution", selectWithResult+" WHERE session_id = ?"+record.NewestFirst+" LIMIT 1", []any{sessionID}, withResult(s))
	if err == nil && !ok {
		err = record.NothingExecuted(sessionID)
	}
	return e, err
}

// Executions implements contract.ExecutionStore.
func (s *Store) Executions(ctx context.Context, sessionID string, query contract.ExecutionQuery) ([]yurt.Execution, error) {
	var where record.Conditions
	where.Executions(sessionID, query)
	return s.executions(ctx, where.SQL()+record.NewestFirst+record.Limit(query.Limit), where.Args...)
}

// UnfinishedExecutions implements contract.ExecutionStore.
func (s *Store) UnfinishedExecutions(ctx context.Context, sessionID string) ([]yurt.Execution, error) {
	var where record.Conditions
	where.Add("result IS NULL")
	if sessionID != "" {
		where.Add("session_id = ?", sessionID)
	}
	return s.executions(ctx, where.SQL(), where.Args...)
}

func (s *Store) executions(ctx context.Context, tail string, args ...any) ([]yurt.Execution, error) {
	scan := func(row record.Row) (yurt.Execution, error) { return record.ScanExecution(row) }
	return list(ctx, s, "listing executions", selectExecutions+tail, args, scan)
}

// OwnExecution implements contract.ExecutionStore. One whose answer was lost is as it
// should be when it is asked for again.
func (s *Store) OwnExecution(ctx context.Context, id, from, to string) (bool, error) {
	changed, err := s.exec(ctx, "giving an execution another owner",
		"UPDATE executions SET owner = ? WHERE id = ? AND owner IN (?, ?) AND result IS NULL", to, id, from, to)
	return changed == 1, err
}
