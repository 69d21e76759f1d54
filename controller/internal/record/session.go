package record

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
)

// SessionColumns are the columns of a session, in the order of [SessionValues] and
// [ScanSession].
const SessionColumns = `id, template_id, mode, state, reason, agent_id, metadata, env, cpu, memory, disk, pids,
	timeout, idle_timeout, placement, sandbox_id, created_at, updated_at, active_at, ended_at, owner, ends_by, reuse_key, extras, tenant`

// Row is a row of a result, of any database.
type Row interface {
	Scan(dest ...any) error
}

// SessionValues returns the stored values of a session: the values of [SessionColumns], and then that of expires_at.
func SessionValues(s yurt.Session) ([]any, error) {
	var text [4]string
	for i, value := range []any{orEmpty(s.Metadata), orEmpty(s.Env), s.Placement, extrasOf(s)} {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encoding a session: %w", err)
		}
		text[i] = string(data)
	}
	return []any{
		s.ID, s.TemplateID, string(s.Mode), string(s.State), s.Reason, s.AgentID, text[0], text[1],
		s.Resources.CPU, int64(s.Resources.Memory), int64(s.Resources.Disk), s.Resources.PIDs,
		int64(s.Timeout), int64(s.IdleTimeout), text[2], s.SandboxID,
		s.CreatedAt.UnixNano(), s.UpdatedAt.UnixNano(), s.ActiveAt.UnixNano(), nanos(s.EndedAt), s.Owner, nanos(s.EndsBy), s.ReuseKey, text[3], s.Tenant, ExpiresAt(s),
	}, nil
}

// extras is the content of the column of that name: properties of a session that have no column of their own.
type extras struct {
	DiskKind yurt.DiskKind `json:"disk_kind,omitempty"`
	IOWeight int           `json:"io_weight,omitempty"`
	Ulimits  yurt.Ulimits  `json:"ulimits,omitzero"`
	HasFiles bool          `json:"has_files,omitempty"`

	Template *yurt.SessionTemplate `json:"template,omitempty"`
}

func extrasOf(s yurt.Session) extras {
	return extras{s.Resources.DiskKind, s.Resources.IOWeight, s.Resources.Ulimits, s.HasFiles, s.Template}
}

// SessionChanges returns the values that a step of a session's life can change: state, reason, timeout, idle_timeout,
// placement, sandbox_id, updated_at, active_at, ended_at, owner, ends_by, reuse_key, extras, expires_at, and ended_at once more,
// by which the environment is cleared.
func SessionChanges(s yurt.Session) ([]any, error) {
	placement, placementErr := json.Marshal(s.Placement)
	extras, extrasErr := json.Marshal(extrasOf(s))
	if err := errors.Join(placementErr, extrasErr); err != nil {
		return nil, fmt.Errorf("encoding a session: %w", err)
	}
	return []any{
		string(s.State), s.Reason, int64(s.Timeout), int64(s.IdleTimeout), string(placement), s.SandboxID,
		s.UpdatedAt.UnixNano(), s.ActiveAt.UnixNano(), nanos(s.EndedAt), s.Owner, nanos(s.EndsBy), s.ReuseKey, string(extras), ExpiresAt(s), nanos(s.EndedAt),
	}, nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func nanos(at *time.Time) sql.Null[int64] {
	if at == nil {
		return sql.Null[int64]{}
	}
	return sql.Null[int64]{V: at.UnixNano(), Valid: true}
}

func fromNull(n sql.Null[int64]) *time.Time {
	if !n.Valid {
		return nil
	}
	at := FromNanos(n.V)
	return &at
}

// NeverReady reports whether a step ends a session that was not ready yet.
func NeverReady(from, to yurt.SessionState) bool { return from == yurt.SessionCreating && to.Ended() }

// ExpiresAt is the column expires_at, by which the reaper finds sessions: null while the session has no sandbox to end.
func ExpiresAt(s yurt.Session) sql.Null[int64] {
	if s.State.Ended() || s.State == yurt.SessionCreating {
		return sql.Null[int64]{}
	}
	at, _ := s.Expiry()
	return sql.Null[int64]{V: at.UnixNano(), Valid: true}
}

// ScanSession reads the columns of a session and then the more that are asked for.
func ScanSession(row Row, more ...any) (yurt.Session, error) {
	var (
		s                           yurt.Session
		metadata, env, placement    []byte
		rest                        []byte
		created, updated, active    int64
		ended, endsBy               sql.Null[int64]
		memory, disk, timeout, idle int64
	)
	dest := append([]any{
		&s.ID, &s.TemplateID, &s.Mode, &s.State, &s.Reason, &s.AgentID, &metadata, &env,
		&s.Resources.CPU, &memory, &disk, &s.Resources.PIDs, &timeout, &idle, &placement, &s.SandboxID,
		&created, &updated, &active, &ended, &s.Owner, &endsBy, &s.ReuseKey, &rest, &s.Tenant,
	}, more...)
	if err := row.Scan(dest...); err != nil {
		return yurt.Session{}, fmt.Errorf("reading a session: %w", err)
	}
	s.Resources.Memory, s.Resources.Disk = yurt.Size(memory), yurt.Size(disk)
	s.Timeout, s.IdleTimeout = yurt.Duration(timeout), yurt.Duration(idle)
	s.CreatedAt, s.UpdatedAt, s.ActiveAt = FromNanos(created), FromNanos(updated), FromNanos(active)
	s.EndedAt, s.EndsBy = fromNull(ended), fromNull(endsBy)
	var x extras
	err := errors.Join(
		decode(metadata, &s.Metadata),
		decode(env, &s.Env),
		decode(placement, &s.Placement),
		decode(rest, &x),
	)
	s.Resources.DiskKind, s.Resources.IOWeight, s.Resources.Ulimits = x.DiskKind, x.IOWeight, x.Ulimits
	s.HasFiles, s.Template = x.HasFiles, x.Template
	return s, err
}

// FromNanos returns the time that a column holds.
func FromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

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

// SessionNotFound is the error for a session that is not in the store.
func SessionNotFound(id string) error {
	return yurt.Errorf(yurt.CodeSessionNotFound, "session %s does not exist, or ended so long ago that it is forgotten", id)
}
