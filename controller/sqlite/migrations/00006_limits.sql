-- +goose Up

-- Limits of a session that have no column of their own, as JSON.
ALTER TABLE sessions ADD COLUMN extras TEXT NOT NULL DEFAULT '{}';
