package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

const sessionColumns = `id, template_id, mode, state, reason, agent_id, metadata, env, cpu, memory, disk, pids,
	timeout, idle_timeout, placement, sandbox_id, created_at, updated_at, active_at, ended_at`

const (
	selectSession           = "SELECT " + sessionColumns + " FROM sessions WHERE id = ?"
	selectSessionAndRunning = "SELECT " + sessionColumns + ", (SELECT count(*) FROM executions WHERE session_id = sessions.id AND result IS NULL) FROM sessions WHERE id = ?"
	updateSessionText       = `UPDATE sessions SET state = ?, reason = ?, timeout = ?, idle_timeout = ?, placement = ?, sandbox_id = ?,
		updated_at = ?, active_at = ?, ended_at = ?, expires_at = ? WHERE id = ?`
	insertTransitionText = "INSERT INTO transitions (session_id, from_state, to_state, reason, at) VALUES (?, ?, ?, ?, ?)"
)

// CreateSession implements controller.SessionStore.
func (s *Store) CreateSession(ctx context.Context, session yurt.Session, first yurt.Transition, key *controller.IdempotencyKey) error {
	return s.transact(ctx, func(tx *transaction) error {
		if key != nil {
			if _, taken, err := sessionByKey(ctx, tx, key.Key); err != nil {
				return err
			} else if taken {
				return controller.ErrKeyTaken
			}
		}
		if err := insertSession(ctx, tx, session); err != nil {
			return err
		}
		if key != nil {
			_, err := tx.ExecContext(ctx, "INSERT INTO idempotency_keys (key, request_hash, session_id) VALUES (?, ?, ?)", key.Key, key.RequestHash, session.ID)
			if err != nil {
				return fmt.Errorf("adding an idempotency key: %w", err)
			}
		}
		return insertTransitions(ctx, tx, session.ID, []yurt.Transition{first})
	})
}

func insertSession(ctx context.Context, tx *transaction, s yurt.Session) error {
	var text [3]string
	for i, value := range []any{orEmpty(s.Metadata), orEmpty(s.Env), s.Placement} {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encoding a session: %w", err)
		}
		text[i] = string(data)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO sessions ("+sessionColumns+", expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		s.ID, s.TemplateID, s.Mode, s.State, s.Reason, s.AgentID, text[0], text[1],
		s.Resources.CPU, int64(s.Resources.Memory), int64(s.Resources.Disk), s.Resources.PIDs,
		int64(s.Timeout), int64(s.IdleTimeout), text[2], s.SandboxID,
		s.CreatedAt.UnixNano(), s.UpdatedAt.UnixNano(), s.ActiveAt.UnixNano(), endedAt(s), expiresAt(s))
	if err != nil {
		return fmt.Errorf("adding a session: %w", err)
	}
	return nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func endedAt(s yurt.Session) sql.Null[int64] {
	if s.EndedAt == nil {
		return sql.Null[int64]{}
	}
	return sql.Null[int64]{V: s.EndedAt.UnixNano(), Valid: true}
}

// expiresAt is what the reaper looks for: null while there is no sandbox to end.
func expiresAt(s yurt.Session) sql.Null[int64] {
	if s.State.Ended() || s.State == yurt.SessionCreating {
		return sql.Null[int64]{}
	}
	at, _ := s.Expiry()
	return sql.Null[int64]{V: at.UnixNano(), Valid: true}
}

// updateSession writes what a step of a session's life can change.
func updateSession(ctx context.Context, tx *transaction, s yurt.Session) error {
	placement, err := json.Marshal(s.Placement)
	if err != nil {
		return fmt.Errorf("encoding a session: %w", err)
	}
	_, err = tx.ExecContext(ctx, updateSessionText,
		s.State, s.Reason, int64(s.Timeout), int64(s.IdleTimeout), string(placement), s.SandboxID,
		s.UpdatedAt.UnixNano(), s.ActiveAt.UnixNano(), endedAt(s), expiresAt(s), s.ID)
	if err != nil {
		return fmt.Errorf("changing a session: %w", err)
	}
	return nil
}

func insertTransitions(ctx context.Context, tx *transaction, sessionID string, list []yurt.Transition) error {
	for _, t := range list {
		_, err := tx.ExecContext(ctx, insertTransitionText, sessionID, t.From, t.To, t.Reason, t.At.UnixNano())
		if err != nil {
			return fmt.Errorf("adding a transition: %w", err)
		}
	}
	return nil
}

// queryer is what a transaction and a database have in common.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// SessionByKey implements controller.SessionStore.
func (s *Store) SessionByKey(ctx context.Context, key string) (controller.IdempotencyKey, bool, error) {
	return sessionByKey(ctx, s.read, key)
}

func sessionByKey(ctx context.Context, from queryer, key string) (controller.IdempotencyKey, bool, error) {
	found := controller.IdempotencyKey{Key: key}
	err := from.QueryRowContext(ctx, "SELECT request_hash, session_id FROM idempotency_keys WHERE key = ?", key).Scan(&found.RequestHash, &found.SessionID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return controller.IdempotencyKey{}, false, nil
	case err != nil:
		return controller.IdempotencyKey{}, false, fmt.Errorf("reading an idempotency key: %w", err)
	}
	return found, true, nil
}

// Session implements controller.SessionStore.
func (s *Store) Session(ctx context.Context, id string) (yurt.Session, error) {
	return readSession(ctx, s.read, id)
}

func readSession(ctx context.Context, from queryer, id string) (yurt.Session, error) {
	session, err := scanSession(from.QueryRowContext(ctx, selectSession, id))
	return session, foundSession(id, err)
}

// foundSession gives an error that says that there was no row its code.
func foundSession(id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return yurt.Errorf(yurt.CodeSessionNotFound, "session %s does not exist, or ended so long ago that it is forgotten", id)
	}
	return err
}

// scanSession reads the columns of a session and then the more that are asked for.
func scanSession(row interface{ Scan(dest ...any) error }, more ...any) (yurt.Session, error) {
	var (
		s                           yurt.Session
		metadata, env, placement    []byte
		created, updated, active    int64
		ended                       sql.Null[int64]
		memory, disk, timeout, idle int64
	)
	dest := append([]any{
		&s.ID, &s.TemplateID, &s.Mode, &s.State, &s.Reason, &s.AgentID, &metadata, &env,
		&s.Resources.CPU, &memory, &disk, &s.Resources.PIDs, &timeout, &idle, &placement, &s.SandboxID,
		&created, &updated, &active, &ended,
	}, more...)
	if err := row.Scan(dest...); err != nil {
		return yurt.Session{}, fmt.Errorf("reading a session: %w", err)
	}
	s.Resources.Memory, s.Resources.Disk = yurt.Size(memory), yurt.Size(disk)
	s.Timeout, s.IdleTimeout = yurt.Duration(timeout), yurt.Duration(idle)
	s.CreatedAt, s.UpdatedAt, s.ActiveAt = fromNanos(created), fromNanos(updated), fromNanos(active)
	if ended.Valid {
		at := fromNanos(ended.V)
		s.EndedAt = &at
	}
	return s, errors.Join(
		decode(metadata, &s.Metadata),
		decode(env, &s.Env),
		decode(placement, &s.Placement),
	)
}

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

// decode reads a JSON column. An empty object leaves into as it is, so that an
// absent map stays nil.
func decode(data []byte, into any) error {
	if string(data) == "{}" {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding a stored value: %w", err)
	}
	return nil
}

// Sessions implements controller.SessionStore.
func (s *Store) Sessions(ctx context.Context, query controller.SessionQuery) ([]yurt.Session, error) {
	var where conditions
	if query.TemplateID != "" {
		where.add("template_id = ?", query.TemplateID)
	}
	if query.State != "" {
		where.add("state = ?", query.State)
	}
	if query.Live {
		where.add("ended_at IS NULL")
	}
	if query.AgentID != "" {
		where.add("agent_id = ? AND agent_id <> ''", query.AgentID) // as the index says it
	}
	for key, value := range query.Metadata {
		where.add("EXISTS (SELECT 1 FROM json_each(sessions.metadata) WHERE json_each.key = ? AND json_each.value = ?)", key, value)
	}
	where.before(query.Before)
	return s.querySessions(ctx, where.sql()+" ORDER BY created_at DESC, id DESC"+limit(query.Limit), where.args...)
}

// conditions builds a WHERE clause.
type conditions struct {
	terms []string
	args  []any
}

func (c *conditions) add(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, args...)
}

// before keeps what follows a position in a list that is ordered newest first.
func (c *conditions) before(p controller.Position) {
	if !p.IsZero() {
		c.add("(created_at, id) < (?, ?)", p.CreatedAt.UnixNano(), p.ID)
	}
}

func (c *conditions) sql() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}

func (s *Store) querySessions(ctx context.Context, tail string, args ...any) ([]yurt.Session, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+sessionColumns+" FROM sessions"+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	defer rows.Close()
	var list []yurt.Session
	for rows.Next() {
		session, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, session)
	}
	return list, rows.Err()
}

// ChangeSession implements controller.SessionStore.
func (s *Store) ChangeSession(ctx context.Context, id string, change controller.SessionChange) (yurt.Session, error) {
	var after yurt.Session
	err := s.transact(ctx, func(tx *transaction) (err error) {
		after, err = changeSession(ctx, tx, id, 0, change)
		return err
	})
	return after, err
}

// changeSession applies change within a transaction. It shows it so many executions
// more than there are.
func changeSession(ctx context.Context, tx *transaction, id string, more int, change controller.SessionChange) (yurt.Session, error) {
	var running int
	session, err := scanSession(tx.QueryRowContext(ctx, selectSessionAndRunning, id), &running)
	if err != nil {
		return yurt.Session{}, foundSession(id, err)
	}
	transitions, err := change(&session, running+more)
	if err != nil {
		return yurt.Session{}, err
	}
	if err := updateSession(ctx, tx, session); err != nil {
		return yurt.Session{}, err
	}
	return session, insertTransitions(ctx, tx, id, transitions)
}

// Transitions implements controller.SessionStore.
func (s *Store) Transitions(ctx context.Context, id string) ([]yurt.Transition, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT from_state, to_state, reason, at FROM transitions WHERE session_id = ? ORDER BY number", id)
	if err != nil {
		return nil, fmt.Errorf("listing transitions: %w", err)
	}
	defer rows.Close()
	var list []yurt.Transition
	for rows.Next() {
		var (
			t  yurt.Transition
			at int64
		)
		if err := rows.Scan(&t.From, &t.To, &t.Reason, &at); err != nil {
			return nil, fmt.Errorf("reading a transition: %w", err)
		}
		t.At = fromNanos(at)
		list = append(list, t)
	}
	return list, rows.Err()
}

// CountSessions implements controller.SessionStore.
func (s *Store) CountSessions(ctx context.Context) (map[yurt.SessionState]int, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT state, count(*) FROM sessions GROUP BY state")
	if err != nil {
		return nil, fmt.Errorf("counting sessions: %w", err)
	}
	defer rows.Close()
	counts := map[yurt.SessionState]int{}
	for rows.Next() {
		var (
			state yurt.SessionState
			n     int
		)
		if err := rows.Scan(&state, &n); err != nil {
			return nil, fmt.Errorf("counting sessions: %w", err)
		}
		counts[state] = n
	}
	return counts, rows.Err()
}
