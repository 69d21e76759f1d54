-- +goose Up

-- By how many nanoseconds the controllers' clocks are behind the server's, which they follow
-- slowly where it was set. It has one row.
CREATE TABLE clock (
    behind BIGINT NOT NULL
);
INSERT INTO clock (behind) VALUES (0);
