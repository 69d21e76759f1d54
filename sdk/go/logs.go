package yurtclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/yurtrun/yurt"
)

// logBody is an entry of a log as the API has it.
type logBody struct {
	yurt.LogEntry
	Data       *string `json:"data"`
	DataBase64 []byte  `json:"data_base64"` // output that is not UTF-8
}

func (b *logBody) entry() yurt.LogEntry {
	e := b.LogEntry
	if e.Data = b.DataBase64; b.Data != nil {
		e.Data = []byte(*b.Data)
	}
	return e
}

// Logs returns the last limit bytes of the output of a session's executions, the newest last, and
// whether there was more. 0 is [yurt.DefaultLogBytes].
func (c *Client) Logs(ctx context.Context, sessionID string, limit int) (_ []yurt.LogEntry, truncated bool, err error) {
	var list struct {
		Logs      []logBody `json:"logs"`
		Truncated bool      `json:"truncated"`
	}
	if err := c.get(ctx, sessionPath(sessionID)+"/logs", logQuery(limit), &list); err != nil {
		return nil, false, err
	}
	entries := make([]yurt.LogEntry, len(list.Logs))
	for i := range list.Logs {
		entries[i] = list.Logs[i].entry()
	}
	return entries, list.Truncated, nil
}

// FollowLogs calls each with the entries that [Client.Logs] returns, and then with the output of
// executions as it comes, until the session has ended. A connection that breaks is a
// [yurt.CodeUnavailable] error: entries have no numbers to go on after.
func (c *Client) FollowLogs(ctx context.Context, sessionID string, limit int, each func(yurt.LogEntry) error) error {
	query := logQuery(limit)
	query.Set("follow", "true")
	resp, err := c.send(ctx, call{
		method: http.MethodGet, path: sessionPath(sessionID) + "/logs", query: query, header: http.Header{"Accept": {typeEventStream}},
	})
	if err != nil {
		return err
	}
	ended := false
	err = readEvents(ctx, resp.Body, func(data []byte) (bool, error) {
		var body logBody
		if err := json.Unmarshal(data, &body); err != nil {
			return false, fmt.Errorf("reading a log: %w", err)
		}
		if ended = body.Type == yurt.EventEnded; ended {
			return true, nil
		}
		return false, each(body.entry())
	})
	if err == nil && !ended {
		return yurt.Errorf(yurt.CodeUnavailable, "the stream of the log of session %s broke off; the session goes on, follow it again", sessionID)
	}
	return err
}

func logQuery(limit int) url.Values {
	if limit == 0 {
		limit = yurt.DefaultLogBytes
	}
	return url.Values{"limit": {strconv.Itoa(limit)}}
}
