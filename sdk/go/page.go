package yurtclient

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"time"
)

// maxPage is the most entries that a page of a list has.
const maxPage = 500

// pages yields the entries of a list, and asks for each page when its first entry is wanted. member is the list's name in a page. An
// error ends it.
func pages[T any](ctx context.Context, c *Client, path, member string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		asked := maps.Clone(query)
		for {
			list, next, err := page[T](ctx, c, path, member, asked)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, entry := range list {
				if !yield(entry, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			if asked == nil {
				asked = url.Values{}
			}
			asked.Set("cursor", next)
		}
	}
}

// page reads one page of a list, and the cursor of the next.
func page[T any](ctx context.Context, c *Client, path, member string, query url.Values) (list []T, next string, err error) {
	var body map[string]json.RawMessage
	if err := c.get(ctx, path, query, &body); err != nil {
		return nil, "", err
	}
	for name, into := range map[string]any{member: &list, "next_cursor": &next} {
		if value, has := body[name]; has {
			if err := json.Unmarshal(value, into); err != nil {
				return nil, "", fmt.Errorf("reading the list of %s: %w", member, err)
			}
		}
	}
	return list, next, nil
}

// whole reads all pages of a list, or as many as it takes for most entries, where that is not 0.
func whole[T any](ctx context.Context, c *Client, path, member string, query url.Values, most int) ([]T, error) {
	var all []T
	for entry, err := range pages[T](ctx, c, path, member, query) {
		if err != nil {
			return nil, err
		}
		if all = append(all, entry); len(all) == most {
			break
		}
	}
	return all, nil
}

// queryOf returns the parameters that have a value.
func queryOf(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// filter is a filter of a list: its fields that are not empty narrow it.
type filter interface{ query() url.Values }

// queryOfAll joins the parameters of filters.
func queryOfAll[F filter](filters []F) url.Values {
	all := url.Values{}
	for _, f := range filters {
		maps.Copy(all, f.query())
	}
	return all
}

// setTimes adds the times that are given.
func setTimes(query url.Values, times map[string]time.Time) {
	for name, at := range times {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
}

// setLimit adds the size of a page, unless it is the server's default.
func setLimit(query url.Values, limit int) {
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
}
