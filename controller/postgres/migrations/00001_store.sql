-- +goose Up

-- Times are nanoseconds since 1970 in UTC, durations nanoseconds, sizes bytes.
CREATE TABLE sessions (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    template_id  TEXT             NOT NULL,
    mode         TEXT             NOT NULL,
    state        TEXT             NOT NULL,
    reason       TEXT             NOT NULL,
    agent_id     TEXT             NOT NULL,
    metadata     JSONB            NOT NULL,
    env          TEXT             NOT NULL, -- JSON object; may hold secrets
    cpu          DOUBLE PRECISION NOT NULL,
    memory       BIGINT           NOT NULL,
    disk         BIGINT           NOT NULL,
    pids         BIGINT           NOT NULL,
    timeout      BIGINT           NOT NULL,
    idle_timeout BIGINT           NOT NULL,
    placement    TEXT             NOT NULL, -- JSON object
    sandbox_id   TEXT             NOT NULL,
    created_at   BIGINT           NOT NULL,
    updated_at   BIGINT           NOT NULL,
    active_at    BIGINT           NOT NULL,
    ended_at     BIGINT,                    -- null while it lives
    owner        TEXT             NOT NULL, -- controller that makes its sandbox
    expires_at   BIGINT                     -- null without a sandbox
);

CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);
CREATE INDEX sessions_live ON sessions (created_at DESC, id DESC) WHERE ended_at IS NULL;
CREATE INDEX sessions_agent ON sessions (agent_id, created_at DESC, id DESC) WHERE agent_id <> '';
CREATE INDEX sessions_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE transitions (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    from_state TEXT   NOT NULL,
    to_state   TEXT   NOT NULL,
    reason     TEXT   NOT NULL,
    at         BIGINT NOT NULL
);

CREATE INDEX transitions_session ON transitions (session_id, number);

CREATE TABLE idempotency_keys (
    key          BYTEA NOT NULL PRIMARY KEY, -- a client's, and so any bytes
    request_hash TEXT  NOT NULL,
    session_id   TEXT  NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX idempotency_keys_session ON idempotency_keys (session_id);

CREATE TABLE executions (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    session_id TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind       TEXT   NOT NULL,
    language   TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    owner      TEXT   NOT NULL, -- controller that follows it
    result     TEXT,            -- JSON object without the output; null while it runs
    stdout     BYTEA,           -- apart from the result, since it need not be text
    stderr     BYTEA
);

CREATE INDEX executions_newest ON executions (session_id, created_at DESC, id DESC);
CREATE INDEX executions_unfinished ON executions (session_id) WHERE result IS NULL;

CREATE TABLE templates (
    name       TEXT   NOT NULL PRIMARY KEY,
    body       TEXT   NOT NULL, -- JSON object
    created_at BIGINT NOT NULL
);

-- Sizes of warm pools that differ from what their templates say.
CREATE TABLE pools (
    template TEXT   NOT NULL PRIMARY KEY,
    least    BIGINT NOT NULL,
    most     BIGINT NOT NULL
);

-- What one controller at a time has of a name. The beat is counted up by its holder.
CREATE TABLE leases (
    name   TEXT   NOT NULL PRIMARY KEY,
    holder TEXT   NOT NULL,
    beat   BIGINT NOT NULL
);
