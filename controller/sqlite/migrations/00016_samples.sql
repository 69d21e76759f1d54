-- +goose Up

-- The use of tenants (without a session) and sessions over time. Rows are kept for a day.
CREATE TABLE usage_samples (
    tenant      TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    at          INTEGER NOT NULL,
    sessions    INTEGER NOT NULL,
    cpu         REAL NOT NULL,
    cpu_seconds REAL NOT NULL,
    memory      INTEGER NOT NULL,
    disk        INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_id, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_samples_oldest ON usage_samples (at);
