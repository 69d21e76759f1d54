-- +goose Up

-- The audit log. Entries are added and never changed, and one of the last hour cannot be removed.
CREATE TABLE audit (
    id         TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    tenant     TEXT NOT NULL, -- empty for a caller that is not known
    key_id     TEXT NOT NULL,
    address    TEXT NOT NULL,
    action     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    target     TEXT NOT NULL,
    decision   TEXT NOT NULL,
    status     INTEGER NOT NULL,
    detail     TEXT NOT NULL,
    request_id TEXT NOT NULL,
    count      INTEGER NOT NULL
) STRICT;

CREATE INDEX audit_newest ON audit (created_at DESC, id DESC);
CREATE INDEX audit_tenant ON audit (tenant, created_at DESC, id DESC);
CREATE INDEX audit_session ON audit (session_id, created_at DESC, id DESC) WHERE session_id <> '';

-- +goose StatementBegin
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log are not changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
WHEN OLD.created_at > (unixepoch() - 3600) * 1000000000
BEGIN
    SELECT RAISE(ABORT, 'entries of the last hour are not removed from the audit log');
END;
-- +goose StatementEnd
