-- +goose Up

-- Output that is too large to be with its result, in pieces of 256 KiB: streams are 0 for stdout and 1 for stderr. The id
-- is in the result; pieces whose id is in none go with their session.
CREATE TABLE outputs (
    id           text    NOT NULL,
    execution_id text    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    stream       integer NOT NULL,
    number       integer NOT NULL,
    data         bytea   NOT NULL,
    PRIMARY KEY (id, stream, number)
);

CREATE INDEX outputs_execution ON outputs (execution_id);
