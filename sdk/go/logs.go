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
	return logsOf(ctx, c, sessionPath(sessionID), limit)
}

// ContainerLogs returns the log of a sandbox, as [Client.Logs] returns that of its session.
func ContainerLogs(ctx context.Context, client *Client, id string, limit int) (_ []yurt.LogEntry, truncated bool, err error) {
	return logsOf(ctx, client, containerPath(id), limit)
}

// logsOf returns the log below a path.
func logsOf(ctx context.Context, client *Client, path string, limit int) (_ []yurt.LogEntry, truncated bool, err error) {
	var list struct {
		Logs      []logBody `json:"logs"`
		Truncated bool      `json:"truncated"`
	}
	if err := client.get(ctx, path+"/logs", logQuery(limit), &list); err != nil {
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
	return followLogs(ctx, c, sessionPath(sessionID), limit, each)
}

// FollowContainerLogs follows the log of a sandbox, as [Client.FollowLogs] follows that of its session.
func FollowContainerLogs(ctx context.Context, client *Client, id string, limit int, each func(yurt.LogEntry) error) error {
	return followLogs(ctx, client, containerPath(id), limit, each)
}

// followLogs follows the log below a path.
func followLogs(ctx context.Context, client *Client, path string, limit int, each func(yurt.LogEntry) error) error {
	query := logQuery(limit)
	query.Set("follow", "true")
	resp, err := client.send(ctx, call{
		method: http.MethodGet, path: path + "/logs", query: query, header: http.Header{"Accept": {typeEventStream}},
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
		return yurt.Errorf(yurt.CodeUnavailable, "the stream of a log broke off; the session goes on, follow the log again")
	}
	return err
}

func logQuery(limit int) url.Values {
	if limit == 0 {
		limit = yurt.DefaultLogBytes
	}
	return url.Values{"limit": {strconv.Itoa(limit)}}
}
