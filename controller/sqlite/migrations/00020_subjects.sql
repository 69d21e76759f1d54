-- +goose Up

-- Callers with a token of an issuer have a subject, and no API key.
ALTER TABLE audit ADD COLUMN subject TEXT NOT NULL DEFAULT '';
