package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

const (
	selectSession           = "SELECT " + record.SessionColumns + " FROM sessions WHERE id = ?"
	selectSessionAndRunning = "SELECT " + record.SessionColumns + ", expires_at, (SELECT count(*) FROM executions WHERE session_id = sessions.id AND result IS NULL) FROM sessions WHERE id = ?"
	updateSessionText       = `UPDATE sessions SET state = ?, reason = ?, timeout = ?, idle_timeout = ?, placement = ?, sandbox_id = ?,
		updated_at = ?, active_at = ?, ended_at = ?, owner = ?, ends_by = ?, reuse_key = ?, extras = ?, expires_at = ?,
		env = CASE WHEN CAST(? AS bigint) IS NULL THEN env ELSE '{}' END WHERE id = ?`
	updateActivityText   = "UPDATE sessions SET state = ?, reason = ?, updated_at = ?, active_at = ? WHERE id = ?"
	insertTransitionText = `INSERT INTO transitions (session_id, number, from_state, to_state, reason, at)
		VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM transitions WHERE session_id = ?1), ?2, ?3, ?4, ?5)`
	countSessionsText = `SELECT state, count(*) FROM sessions WHERE ended_at IS NULL GROUP BY state
		UNION ALL SELECT state, count(*) FROM sessions WHERE ended_at IS NOT NULL GROUP BY state`
	countTenantsText = "SELECT tenant, state, count(*) FROM sessions WHERE ended_at IS NULL GROUP BY tenant, state"
	selectKey        = "SELECT request_hash, session_id FROM idempotency_keys WHERE key = ?"
)

// CreateSession implements contract.SessionStore.
func (s *Store) CreateSession(ctx context.Context, session yurt.Session, first yurt.Transition, key *contract.IdempotencyKey) error {
	return s.write.transact(ctx, func(tx *transaction) error {
		if key != nil {
			if _, taken, err := scanKey(key.Key, tx.row(selectKey, key.Key)); err != nil {
				return err
			} else if taken {
				return contract.ErrKeyTaken
			}
		}
		if session.ReuseKey != "" {
			if taken, err := reuseTaken(tx, session.ReuseKey); err != nil {
				return err
			} else if taken {
				return contract.ErrReuseTaken
			}
		}
		if err := admitSession(tx, session); err != nil {
			return err
		}
		if err := insertSession(tx, session); err != nil {
			return err
		}
		if key != nil {
			_, err := tx.exec("INSERT INTO idempotency_keys (key, request_hash, session_id) VALUES (?, ?, ?)", key.Key, key.RequestHash, session.ID)
			if err != nil {
				return fmt.Errorf("adding an idempotency key: %w", err)
			}
		}
		return insertTransitions(tx, session.ID, []yurt.Transition{first})
	}, s.keep(&kept{session: session, due: record.ExpiresAt(session)}))
}

func insertSession(tx *transaction, s yurt.Session) error {
	values, err := record.SessionValues(s)
	if err != nil {
		return err
	}
	marks := strings.Repeat(", ?", len(values))[2:]
	if _, err := tx.exec("INSERT INTO sessions ("+record.SessionColumns+", expires_at) VALUES ("+marks+")", values...); err != nil {
		return fmt.Errorf("adding a session: %w", err)
	}
	return nil
}

// updateSession writes the values that a step of a session's life can change.
func updateSession(tx *transaction, s yurt.Session) error {
	values, err := record.SessionChanges(s)
	if err != nil {
		return err
	}
	update := func() error {
		_, err := tx.exec(updateSessionText, append(values, s.ID)...)
		return err
	}
	if s.State.Ended() && len(s.Env) > 0 {
		err = tx.erasing(update)
	} else {
		err = update()
	}
	if err != nil {
		return fmt.Errorf("changing a session: %w", err)
	}
	return nil
}

// updateActivity writes that a session was used, which is in no index.
func updateActivity(tx *transaction, s yurt.Session) error {
	_, err := tx.exec(updateActivityText, string(s.State), s.Reason, s.UpdatedAt.UnixNano(), s.ActiveAt.UnixNano(), s.ID)
	if err != nil {
		return fmt.Errorf("changing a session: %w", err)
	}
	return nil
}

// usedOnly reports whether a session differs only in the values that [updateActivity] writes.
func usedOnly(before, after yurt.Session) bool {
	before.State, before.Reason, before.UpdatedAt, before.ActiveAt = after.State, after.Reason, after.UpdatedAt, after.ActiveAt
	return reflect.DeepEqual(before, after)
}

func insertTransitions(tx *transaction, sessionID string, list []yurt.Transition) error {
	for _, t := range list {
		_, err := tx.exec(insertTransitionText, sessionID, t.From, t.To, t.Reason, t.At.UnixNano())
		if err != nil {
			return fmt.Errorf("adding a transition: %w", err)
		}
	}
	return nil
}

// SessionByKey implements contract.SessionStore.
func (s *Store) SessionByKey(ctx context.Context, key string) (contract.IdempotencyKey, bool, error) {
	return scanKey(key, s.read.QueryRowContext(ctx, selectKey, key))
}

func scanKey(key string, row record.Row) (contract.IdempotencyKey, bool, error) {
	found := contract.IdempotencyKey{Key: key}
	err := row.Scan(&found.RequestHash, &found.SessionID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return contract.IdempotencyKey{}, false, nil
	case err != nil:
		return contract.IdempotencyKey{}, false, fmt.Errorf("reading an idempotency key: %w", err)
	}
	return found, true, nil
}

func reuseTaken(tx *transaction, key string) (taken bool, _ error) {
	err := tx.row("SELECT EXISTS (SELECT 1 FROM sessions WHERE reuse_key = ? AND reuse_key <> '' AND ended_at IS NULL)", key).Scan(&taken)
	if err != nil {
		return false, fmt.Errorf("looking for a session to reuse: %w", err)
	}
	return taken, nil
}

// Session implements contract.SessionStore.
func (s *Store) Session(ctx context.Context, id string) (yurt.Session, error) {
	if found, ok := s.cache.get(id); ok {
		return found.session, nil
	}
	session, err := record.ScanSession(s.read.QueryRowContext(ctx, selectSession, id))
	return session, foundSession(id, err)
}

// foundSession gives an error that says that there was no row its code.
func foundSession(id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return record.SessionNotFound(id)
	}
	return err
}

// Sessions implements contract.SessionStore.
func (s *Store) Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error) {
	var where record.Conditions
	where.Sessions(query)
	for key, value := range query.Metadata {
		where.Add("EXISTS (SELECT 1 FROM json_each(sessions.metadata) WHERE json_each.key = ? AND json_each.value = ?)", key, value)
	}
	return s.querySessions(ctx, where.SQL()+record.NewestFirst+record.Limit(query.Limit), where.Args...)
}

func (s *Store) querySessions(ctx context.Context, tail string, args ...any) ([]yurt.Session, error) {
	return list(ctx, s.read, "listing sessions", "SELECT "+record.SessionColumns+" FROM sessions"+tail, args, func(row record.Row) (yurt.Session, error) {
		return record.ScanSession(row)
	})
}

// ChangeSession implements contract.SessionStore.
func (s *Store) ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error) {
	var after kept
	err := s.write.transact(ctx, func(tx *transaction) (err error) {
		if after, _, err = s.load(tx, id); err != nil {
			return err
		}
		return after.step(tx, change)
	}, s.keep(&after))
	if err != nil {
		return yurt.Session{}, err
	}
	return after.session, nil
}

// load returns a session as it is in the transaction, which has not changed it yet, and takes it out of the cache; the
// executions are those of the last transaction if it was cached.
func (s *Store) load(tx *transaction, id string) (found kept, cached bool, err error) {
	if found, ok := s.cache.take(id); ok {
		return found, true, nil
	}
	found.session, err = record.ScanSession(tx.row(selectSessionAndRunning, id), &found.due, &found.running)
	return found, false, foundSession(id, err)
}

// keep returns the function that caches a session once it is committed.
func (s *Store) keep(k *kept) (ended func(committed bool)) {
	return func(committed bool) {
		switch {
		case !committed:
			s.cache.drop(k.session.ID)
		case k.session.ID != "": // otherwise the session did not change
			s.cache.put(*k)
		}
	}
}

// step applies a change to the session, and stores it. One that was only used expires no
// sooner for it: when it does is left as it was in the column, and so in its index, until
// [Store.ExpiredSessions] comes upon it.
func (k *kept) step(tx *transaction, change contract.SessionChange) error {
	before := clone(k.session)
	transitions, err := change(&k.session, k.running)
	if err != nil {
		return err
	}
	tx.ends = tx.ends || k.session.State.Ended()
	due := record.ExpiresAt(k.session)
	if k.due.Valid && due.Valid && due.V >= k.due.V && usedOnly(before, k.session) {
		err = updateActivity(tx, k.session)
	} else {
		err = updateSession(tx, k.session)
		k.due = due
	}
	if err == nil && record.NeverReady(before.State, k.session.State) {
		_, err = tx.exec("DELETE FROM idempotency_keys WHERE session_id = ?", k.session.ID)
	}
	if err != nil {
		return err
	}
	return insertTransitions(tx, k.session.ID, transitions)
}

// Transitions implements contract.SessionStore.
func (s *Store) Transitions(ctx context.Context, id string, after int) ([]yurt.Transition, error) {
	const text = "SELECT from_state, to_state, reason, at FROM transitions WHERE session_id = ? ORDER BY number LIMIT -1 OFFSET ?"
	return list(ctx, s.read, "listing transitions", text, []any{id, after}, func(row record.Row) (t yurt.Transition, err error) {
		var at int64
		if err := row.Scan(&t.From, &t.To, &t.Reason, &at); err != nil {
			return t, fmt.Errorf("reading a transition: %w", err)
		}
		t.At = record.FromNanos(at)
		return t, nil
	})
}

// CountSessions implements contract.SessionStore.
func (s *Store) CountSessions(ctx context.Context) (map[yurt.SessionState]int, error) {
	rows, err := s.read.QueryContext(ctx, countSessionsText)
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

// countTenants counts the sessions that have not ended.
func (s *Store) countTenants(ctx context.Context) ([]record.TenantCount, error) {
	const what = "counting the sessions of tenants"
	return list(ctx, s.read, what, countTenantsText, nil, func(row record.Row) (c record.TenantCount, err error) {
		if err := row.Scan(&c.Tenant, &c.State, &c.N); err != nil {
			return c, fmt.Errorf("%s: %w", what, err)
		}
		return c, nil
	})
}
