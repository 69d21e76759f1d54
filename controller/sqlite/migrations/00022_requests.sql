-- +goose Up

-- Requests with idempotency keys, but for those that create sessions. Rows are kept for a day.
CREATE TABLE requests (
    key          TEXT NOT NULL PRIMARY KEY,
    claim        TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    at           INTEGER NOT NULL,
    answer       BLOB
) STRICT;

CREATE INDEX requests_oldest ON requests (at);
