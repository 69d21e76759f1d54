-- +goose Up

-- Tenants that have quotas. Others have no bounds.
CREATE TABLE tenants (
    name   TEXT NOT NULL PRIMARY KEY,
    quotas TEXT NOT NULL -- JSON object
) STRICT;

CREATE INDEX sessions_tenant_live ON sessions (tenant) WHERE ended_at IS NULL;
