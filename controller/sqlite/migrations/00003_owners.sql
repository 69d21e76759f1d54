-- +goose Up

-- Which controller makes the sandbox of a session, and follows an execution.
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
