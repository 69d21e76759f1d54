-- +goose Up

-- Controllers no longer follow the server's clock: they compare theirs with it.
DROP TABLE clock;
