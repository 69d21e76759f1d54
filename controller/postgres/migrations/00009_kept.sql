-- +goose Up

-- How many bytes are kept of a result: 0 while it runs, and once its output, value and displays were dropped for a quota.
ALTER TABLE executions ADD COLUMN kept_bytes bigint NOT NULL DEFAULT 0;
UPDATE executions SET kept_bytes = octet_length(result) + coalesce(octet_length(stdout), 0) + coalesce(octet_length(stderr), 0) WHERE result IS NOT NULL;
CREATE INDEX executions_kept ON executions (created_at DESC, id DESC, kept_bytes) WHERE kept_bytes > 0;
