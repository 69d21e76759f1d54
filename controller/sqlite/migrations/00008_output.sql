-- +goose Up

-- Output that is too large to be with its result, in pieces of 256 KiB: streams are 0 for stdout and 1 for stderr. The id
-- is in the result; pieces whose id is in none go with their session.
CREATE TABLE outputs (
    id           TEXT    NOT NULL,
    execution_id TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    stream       INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    data         BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX outputs_piece ON outputs (id, stream, number);
CREATE INDEX outputs_execution ON outputs (execution_id);
