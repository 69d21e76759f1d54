-- +goose Up

-- Tokens for one session are API keys that have one, and the key that made them: they are in force while both are.
ALTER TABLE api_keys ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';
CREATE INDEX api_keys_session ON api_keys (session_id) WHERE session_id <> '';
