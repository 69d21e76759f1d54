-- +goose Up

-- The use of tenants (without a session) and sessions over time. Rows are kept for a day.
CREATE TABLE usage_samples (
    tenant      TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    at          BIGINT NOT NULL,
    sessions    BIGINT NOT NULL,
    cpu         DOUBLE PRECISION NOT NULL,
    cpu_seconds DOUBLE PRECISION NOT NULL,
    memory      BIGINT NOT NULL,
    disk        BIGINT NOT NULL,
    PRIMARY KEY (tenant, session_id, at)
);

CREATE INDEX usage_samples_oldest ON usage_samples (at);
