-- +goose Up

-- The last transaction of each connection that committed: how one whose answer was lost
-- is found out about.
CREATE TABLE connections (
    id      BIGINT      NOT NULL PRIMARY KEY,
    last    BIGINT      NOT NULL,
    made_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
