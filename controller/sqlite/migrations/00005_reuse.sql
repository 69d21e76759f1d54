-- +goose Up

-- What an agent that asks for reuse finds a session by; empty for one that is not asked for
-- so. The index is what makes two that ask at once have one session.
ALTER TABLE sessions ADD COLUMN reuse_key TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX sessions_reuse ON sessions (reuse_key) WHERE reuse_key <> '' AND ended_at IS NULL;
