-- +goose Up

-- Sizes of warm pools that differ from what their templates say.
CREATE TABLE pools (
    template TEXT    NOT NULL PRIMARY KEY,
    least    INTEGER NOT NULL,
    most     INTEGER NOT NULL
) STRICT;
