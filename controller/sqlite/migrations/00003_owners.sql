-- +goose Up

-- Which controller makes the sandbox of a session, and follows an execution.
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- What one controller at a time has of a name. The beat is counted up by its holder.
CREATE TABLE leases (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    beat   INTEGER NOT NULL
) STRICT;
