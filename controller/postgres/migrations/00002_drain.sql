-- +goose Up

-- When a session ends at the latest, since its node is drained; null otherwise.
ALTER TABLE sessions ADD COLUMN ends_by BIGINT;
