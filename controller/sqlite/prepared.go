package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// preparedTexts are the statements that an execution needs. Parsing them each time
// would take a third of its time here.
func preparedTexts() []string {
	return []string{
		selectSession, selectSessionAndRunning, updateSessionText, insertTransitionText,
		insertExecutionText, endExecutionText, selectExecution, selectTemplate,
	}
}

// database is a pool of connections with statements that are prepared once.
type database struct {
	*sql.DB
	prepared map[string]*sql.Stmt // by text; never changed once open
}

// openDatabase opens a pool of at most n connections and readies it before the
// statements are prepared.
func openDatabase(ctx context.Context, name string, n int, ready func(*sql.DB) error) (_ *database, err error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if ready != nil {
		if err := ready(db); err != nil {
			return nil, err
		}
	}
	d := &database{DB: db, prepared: map[string]*sql.Stmt{}}
	for _, text := range preparedTexts() {
		if d.prepared[text], err = db.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // Close does
			return nil, fmt.Errorf("preparing the store's statements: %w", err)
		}
	}
	return d, nil
}

// QueryRowContext is that of sql.DB, with a prepared statement where there is one.
func (d *database) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if statement, ok := d.prepared[text]; ok {
		return statement.QueryRowContext(ctx, args...)
	}
	return d.DB.QueryRowContext(ctx, text, args...)
}

// Close closes the statements and the connections.
func (d *database) Close() error {
	var errs []error
	for _, statement := range d.prepared {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, d.DB.Close())...)
}

// transaction is a sql.Tx with prepared statements.
type transaction struct {
	*sql.Tx
	db *database
}

func (d *database) begin(ctx context.Context) (*transaction, error) {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &transaction{tx, d}, nil
}

// ExecContext is that of sql.Tx, with a prepared statement where there is one.
func (t *transaction) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if statement, ok := t.db.prepared[text]; ok {
		return t.StmtContext(ctx, statement).ExecContext(ctx, args...) //nolint:sqlclosecheck // the transaction's end does
	}
	return t.Tx.ExecContext(ctx, text, args...)
}

// QueryRowContext is that of sql.Tx, with a prepared statement where there is one.
func (t *transaction) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if statement, ok := t.db.prepared[text]; ok {
		return t.StmtContext(ctx, statement).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the transaction's end does
	}
	return t.Tx.QueryRowContext(ctx, text, args...)
}
