-- +goose Up

-- API keys. The key itself is kept nowhere: hash is its SHA-256.
CREATE TABLE api_keys (
    id         TEXT    NOT NULL PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE,
    tenant     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    scopes     TEXT    NOT NULL, -- with a space between two
    created_at INTEGER NOT NULL,
    expires_at INTEGER,          -- null for a key that does not expire
    used_at    INTEGER,          -- null for a key that was not used
    revoked_at INTEGER           -- null for a key in force
) STRICT;

CREATE INDEX api_keys_tenant ON api_keys (tenant, created_at DESC, id DESC);
