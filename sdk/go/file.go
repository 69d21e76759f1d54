package yurtclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

// PutFile replaces the file at name, a path below the workspace, with content.
// Directories are made as needed. It streams: content is not held in memory.
func (c *Client) PutFile(ctx context.Context, sessionID, name string, content io.Reader) (yurt.FileInfo, error) {
	var info yurt.FileInfo
	err := c.roundTrip(ctx, call{
		method: http.MethodPut,
		path:   filePath(sessionID, name),
		header: http.Header{"Content-Type": {"application/octet-stream"}},
		body:   io.NopCloser(content), // content stays the caller's to close
	}, &info)
	return info, err
}

// GetFile opens the file at name, a path below the workspace. The caller closes it.
func (c *Client) GetFile(ctx context.Context, sessionID, name string) (io.ReadCloser, yurt.FileInfo, error) {
	resp, err := c.send(ctx, call{method: http.MethodGet, path: filePath(sessionID, name)})
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	info := yurt.FileInfo{Path: name, Size: resp.ContentLength}
	if modified, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		info.ModTime = modified.In(time.UTC)
	}
	return resp.Body, info, nil
}

// filePath escapes name segment by segment. A segment of dots is escaped too, so
// that no server or proxy takes it for a step up before Yurt has judged it.
func filePath(sessionID, name string) string {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		if s == "." || s == ".." {
			segments[i] = strings.ReplaceAll(s, ".", "%2E")
			continue
		}
		segments[i] = segment(s)
	}
	return sessionPath(sessionID) + "/files/" + strings.Join(segments, "/")
}
