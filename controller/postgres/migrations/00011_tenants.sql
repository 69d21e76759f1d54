-- +goose Up

-- The tenant whose session it is. What was there before belongs to the operator.
ALTER TABLE sessions ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
CREATE INDEX sessions_tenant ON sessions (tenant, created_at DESC, id DESC);
