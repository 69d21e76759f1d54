package yurtclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/yurtrun/yurt"
)

// PackFiles returns the files below the directory at name, "" being the workspace, as a tar
// archive. One that breaks off ends with an error. The caller closes it, and must not trust its
// names and links: they are those of an untrusted program.
func (c *Client) PackFiles(ctx context.Context, sessionID, name string) (io.ReadCloser, error) {
	what, err := postJSON(sessionPath(sessionID)+"/files/archive", struct {
		Path string `json:"path,omitempty"`
	}{name})
	if err != nil {
		return nil, err
	}
	what.reads = true
	resp, err := c.send(ctx, what)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// UnpackFiles unpacks a tar archive in the directory at name, which is made. Files unpacked before
// an error stay. It streams: the archive is not held in memory.
func (c *Client) UnpackFiles(ctx context.Context, sessionID, name string, archive io.Reader) (yurt.Unpacked, error) {
	var done yurt.Unpacked
	err := c.roundTrip(ctx, call{
		method: http.MethodPost, path: sessionPath(sessionID) + "/files/archive", query: url.Values{"path": {name}},
		header: http.Header{"Content-Type": {"application/x-tar"}},
		body:   io.NopCloser(archive), // archive stays the caller's to close
	}, &done)
	return done, err
}

// WatchFiles calls ready, which may be nil, once it watches the directory at name, and then each
// with every change there, and below it if deep, until the directory or the session is gone, the
// connection breaks, ctx ends or each returns an error. It does not connect again: the changes in
// between would be missing.
func (c *Client) WatchFiles(ctx context.Context, sessionID, name string, deep bool, ready func(), each func(yurt.FileEvent) error) error {
	query := url.Values{"path": {name}}
	if deep {
		query.Set("recursive", "true")
	}
	resp, err := c.send(ctx, call{
		method: http.MethodGet, path: sessionPath(sessionID) + "/watch", query: query,
		header: http.Header{"Accept": {typeEventStream}},
	})
	if err != nil {
		return err
	}
	if ready != nil {
		ready()
	}
	return readEvents(ctx, resp.Body, func(data []byte) (bool, error) {
		var event yurt.FileEvent
		if err := json.Unmarshal(data, &event); err != nil {
			return false, fmt.Errorf("reading an event: %w", err)
		}
		return false, each(event)
	})
}
