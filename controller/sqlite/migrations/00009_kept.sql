-- +goose Up

-- How many bytes are kept of a result: 0 while it runs, and once its output, value and displays were dropped for a quota.
ALTER TABLE executions ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE executions SET kept_bytes = length(result) + coalesce(length(stdout), 0) + coalesce(length(stderr), 0) WHERE result IS NOT NULL;
CREATE INDEX executions_kept ON executions (created_at DESC, id DESC, kept_bytes) WHERE kept_bytes > 0;
