-- +goose Up

-- Times are nanoseconds since 1970 in UTC, durations nanoseconds, sizes bytes.
CREATE TABLE sessions (
    id           TEXT    NOT NULL PRIMARY KEY,
    template_id  TEXT    NOT NULL,
    mode         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    agent_id     TEXT    NOT NULL,
    metadata     TEXT    NOT NULL, -- JSON object
    env          TEXT    NOT NULL, -- JSON object; may hold secrets
    cpu          REAL    NOT NULL,
    memory       INTEGER NOT NULL,
    disk         INTEGER NOT NULL,
    pids         INTEGER NOT NULL,
    timeout      INTEGER NOT NULL,
    idle_timeout INTEGER NOT NULL,
    placement    TEXT    NOT NULL, -- JSON object
    sandbox_id   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    active_at    INTEGER NOT NULL,
    ended_at     INTEGER,          -- null while it lives
    expires_at   INTEGER           -- null without a sandbox
) STRICT;

CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);
CREATE INDEX sessions_live ON sessions (created_at DESC, id DESC) WHERE ended_at IS NULL;
CREATE INDEX sessions_agent ON sessions (agent_id, created_at DESC, id DESC) WHERE agent_id <> '';
CREATE INDEX sessions_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sessions_state ON sessions (state);

CREATE TABLE transitions (
    number     INTEGER PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

CREATE INDEX transitions_session ON transitions (session_id, number);

CREATE TABLE idempotency_keys (
    key          TEXT NOT NULL PRIMARY KEY,
    request_hash TEXT NOT NULL,
    session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
) STRICT;

CREATE INDEX idempotency_keys_session ON idempotency_keys (session_id);

CREATE TABLE executions (
    id         TEXT    NOT NULL PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind       TEXT    NOT NULL,
    language   TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    result     TEXT,               -- JSON object without the output; null while it runs
    stdout     BLOB,               -- apart from the result, since it need not be text
    stderr     BLOB
) STRICT;

CREATE INDEX executions_newest ON executions (session_id, created_at DESC, id DESC);
CREATE INDEX executions_unfinished ON executions (session_id) WHERE result IS NULL;

CREATE TABLE templates (
    name       TEXT    NOT NULL PRIMARY KEY,
    body       TEXT    NOT NULL, -- JSON object
    created_at INTEGER NOT NULL
) STRICT;
