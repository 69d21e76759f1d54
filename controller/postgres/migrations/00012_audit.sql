-- +goose Up

-- The audit log. Entries are added and never changed, and one of the last hour cannot be removed.
CREATE TABLE audit (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    tenant     TEXT NOT NULL, -- empty for a caller that is not known
    key_id     TEXT NOT NULL,
    address    TEXT NOT NULL,
    action     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    target     TEXT NOT NULL,
    decision   TEXT NOT NULL,
    status     BIGINT NOT NULL,
    detail     TEXT NOT NULL,
    request_id TEXT NOT NULL,
    count      BIGINT NOT NULL
);

CREATE INDEX audit_newest ON audit (created_at DESC, id DESC);
CREATE INDEX audit_tenant ON audit (tenant, created_at DESC, id DESC);
CREATE INDEX audit_session ON audit (session_id, created_at DESC, id DESC) WHERE session_id <> '';

-- +goose StatementBegin
CREATE FUNCTION audit_is_append_only() RETURNS trigger AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.created_at <= (extract(epoch FROM now())::bigint - 3600) * 1000000000 THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are not changed, and those of the last hour are not removed';
END;
$$ LANGUAGE plpgsql;
-- +goose StatementEnd

CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();

-- +goose StatementBegin
CREATE FUNCTION audit_is_not_emptied() RETURNS trigger AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is not emptied';
END;
$$ LANGUAGE plpgsql;
-- +goose StatementEnd

CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_not_emptied();
