-- +goose Up

-- A step of a session's life writes as few pages as can be. Its story is in one tree, by
-- session,.
CREATE TABLE story (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO story SELECT session_id, number, from_state, to_state, reason, at FROM transitions;
DROP TABLE transitions;
ALTER TABLE story RENAME TO transitions;

-- Live sessions are few, and change their state all the time; ended ones are many, and never do.
DROP INDEX sessions_state;
CREATE INDEX sessions_ended_state ON sessions (state, created_at DESC, id DESC) WHERE ended_at IS NOT NULL;
