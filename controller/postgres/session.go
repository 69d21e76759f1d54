package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

const (
	selectSessions = "SELECT " + record.SessionColumns + " FROM sessions"
	updateSession  = `UPDATE sessions SET state = ?, reason = ?, timeout = ?, idle_timeout = ?, placement = ?, sandbox_id = ?,
		updated_at = ?, active_at = ?, ended_at = ?, owner = ?, ends_by = ?, reuse_key = ?, extras = ?, expires_at = ?,
		env = CASE WHEN CAST(? AS bigint) IS NULL THEN env ELSE '{}' END WHERE id = ?`
	countRunning = "SELECT count(*) FROM executions WHERE session_id = ? AND result IS NULL"
)

// CreateSession implements contract.SessionStore.
func (s *Store) CreateSession(ctx context.Context, session yurt.Session, first yurt.Transition, key *contract.IdempotencyKey) error {
	values, err := record.SessionValues(session)
	if err != nil {
		return err
	}
	marks := strings.Repeat(", ?", len(values))[2:]
	var admission admission
	read := func(reads *pgx.Batch) { admission.readSession(reads, session) }
	err = s.transact(ctx, "adding a session", read, func(writes *pgx.Batch) error {
		if err := admission.admitSession(session); err != nil {
			return err
		}
		queue(writes, "INSERT INTO sessions ("+record.SessionColumns+", expires_at) VALUES ("+marks+")", values...)
		if key != nil {
			queue(writes, "INSERT INTO idempotency_keys (key, request_hash, session_id) VALUES (?, ?, ?)", []byte(key.Key), key.RequestHash, session.ID)
		}
		addTransitions(writes, session.ID, []yurt.Transition{first})
		return nil
	})
	switch {
	case violates(err, "idempotency_keys_pkey"):
		return contract.ErrKeyTaken
	case violates(err, "sessions_reuse"):
		return contract.ErrReuseTaken
	}
	return err
}

func addTransitions(writes *pgx.Batch, sessionID string, list []yurt.Transition) {
	for _, t := range list {
		queue(writes, "INSERT INTO transitions (session_id, from_state, to_state, reason, at) VALUES (?, ?, ?, ?, ?)",
			sessionID, string(t.From), string(t.To), t.Reason, t.At.UnixNano())
	}
}

// SessionByKey implements contract.SessionStore.
func (s *Store) SessionByKey(ctx context.Context, key string) (contract.IdempotencyKey, bool, error) {
	return first(ctx, s, "reading an idempotency key", "SELECT request_hash, session_id FROM idempotency_keys WHERE key = ?", []any{[]byte(key)},
		func(row record.Row) (contract.IdempotencyKey, error) {
			found := contract.IdempotencyKey{Key: key}
			return found, row.Scan(&found.RequestHash, &found.SessionID)
		})
}

func scanSession(row record.Row) (yurt.Session, error) { return record.ScanSession(row) }

// Session implements contract.SessionStore.
func (s *Store) Session(ctx context.Context, id string) (yurt.Session, error) {
	session, ok, err := first(ctx, s, "reading a session", selectSessions+" WHERE id = ?", []any{id}, scanSession)
	if err == nil && !ok {
		err = record.SessionNotFound(id)
	}
	return session, err
}

// Sessions implements contract.SessionStore.
func (s *Store) Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error) {
	var where record.Conditions
	where.Sessions(query)
	if len(query.Metadata) > 0 {
		metadata, err := json.Marshal(query.Metadata)
		if err != nil {
			return nil, fmt.Errorf("encoding a query: %w", err)
		}
		where.Add("metadata @> ?::text::jsonb", string(metadata))
	}
	return s.sessions(ctx, where.SQL()+record.NewestFirst+record.Limit(query.Limit), where.Args...)
}

func (s *Store) sessions(ctx context.Context, tail string, args ...any) ([]yurt.Session, error) {
	return list(ctx, s, "listing sessions", selectSessions+tail, args, scanSession)
}

// ChangeSession implements contract.SessionStore.
func (s *Store) ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error) {
	step := step{id: id, change: change}
	err := s.transact(ctx, "changing a session", step.read, step.decide)
	return step.session, err
}

// step is one step of a session's life, in a transaction.
type step struct {
	id     string
	change contract.SessionChange
	more   int // executions that it is shown to have beside those that there are

	session yurt.Session // as it is, and then as it becomes
	running int
	found   bool
}

// read locks the session, and then counts its executions: after the lock, so that those
// are seen which the holder before began or ended.
func (p *step) read(reads *pgx.Batch) {
	p.found = false
	queue(reads, selectSessions+" WHERE id = ? FOR UPDATE", p.id).QueryRow(p.scan)
	queue(reads, countRunning, p.id).QueryRow(p.count)
}

func (p *step) scan(row pgx.Row) (err error) {
	p.session, err = record.ScanSession(row)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	p.found = err == nil
	return err
}

func (p *step) count(row pgx.Row) error { return row.Scan(&p.running) }

func (p *step) decide(writes *pgx.Batch) error {
	if !p.found {
		return record.SessionNotFound(p.id)
	}
	before := p.session.State
	transitions, err := p.change(&p.session, p.running+p.more)
	if err != nil {
		return &refusal{err}
	}
	values, err := record.SessionChanges(p.session)
	if err != nil {
		return err
	}
	queue(writes, updateSession, append(values, p.session.ID)...)
	if record.NeverReady(before, p.session.State) {
		queue(writes, "DELETE FROM idempotency_keys WHERE session_id = ?", p.session.ID)
	}
	addTransitions(writes, p.session.ID, transitions)
	return nil
}

// Transitions implements contract.SessionStore.
func (s *Store) Transitions(ctx context.Context, id string, after int) ([]yurt.Transition, error) {
	const text = "SELECT from_state, to_state, reason, at FROM transitions WHERE session_id = ? ORDER BY number OFFSET ?"
	return list(ctx, s, "listing transitions", text, []any{id, after},
		func(row record.Row) (t yurt.Transition, err error) {
			var at int64
			err = row.Scan(&t.From, &t.To, &t.Reason, &at)
			t.At = record.FromNanos(at)
			return t, err
		})
}

// CountSessions implements contract.SessionStore.
func (s *Store) CountSessions(ctx context.Context) (map[yurt.SessionState]int, error) {
	type count struct {
		state yurt.SessionState
		n     int
	}
	found, err := list(ctx, s, "counting sessions", "SELECT state, count(*) FROM sessions GROUP BY state", nil, func(row record.Row) (c count, err error) {
		return c, row.Scan(&c.state, &c.n)
	})
	counts := make(map[yurt.SessionState]int, len(found))
	for _, c := range found {
		counts[c.state] = c.n
	}
	return counts, err
}

// countTenants counts the sessions that have not ended.
func countTenants(ctx context.Context, s *Store) ([]record.TenantCount, error) {
	return list(ctx, s, "counting the sessions of tenants", "SELECT tenant, state, count(*) FROM sessions WHERE ended_at IS NULL GROUP BY tenant, state", nil,
		func(row record.Row) (c record.TenantCount, err error) {
			return c, row.Scan(&c.Tenant, &c.State, &c.N)
		})
}
