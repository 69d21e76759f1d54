package yurtclient

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

// PutFile replaces the file at name, a path below the workspace, with content.
// Directories are made as needed. It streams: content is not held in memory.
func (c *Client) PutFile(ctx context.Context, sessionID, name string, content io.Reader) (yurt.FileInfo, error) {
	return c.WriteFile(ctx, sessionID, name, content, yurt.WriteOptions{})
}

// WriteFile is PutFile with options: it can add to a file, set its mode, and replace no other file than one that the caller has read.
func (c *Client) WriteFile(ctx context.Context, sessionID, name string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error) {
	query := url.Values{}
	if options.Append {
		query.Set("append", "true")
	}
	if options.Mode != 0 {
		query.Set("mode", options.Mode.String())
	}
	what := call{
		method: http.MethodPut,
		path:   filePath(sessionID, name),
		query:  query,
		header: conditionHeader(options.If, "application/octet-stream"),
		body:   io.NopCloser(content), // content stays the caller's to close
	}
	if data, inMemory := content.(*bytes.Reader); inMemory && !options.Append && options.If.IsZero() {
		what.body = data // it can be sent again
	}
	var info yurt.FileInfo
	err := c.roundTrip(ctx, what, &info)
	return info, err
}

// conditionHeader is the header of a request with a body under a condition. Such a request is not sent again: its first try may have
// made the condition false.
func conditionHeader(condition yurt.Condition, contentType string) http.Header {
	header := http.Header{"Content-Type": {contentType}}
	for name, list := range map[string][]string{"If-Match": condition.Match, "If-None-Match": condition.NoneMatch} {
		if len(list) > 0 {
			header.Set(name, strings.Join(list, ", "))
		}
	}
	return header
}

// GetFile opens the file at name, a path below the workspace. The caller closes it.
func (c *Client) GetFile(ctx context.Context, sessionID, name string) (io.ReadCloser, yurt.FileInfo, error) {
	resp, err := c.send(ctx, call{method: http.MethodGet, path: filePath(sessionID, name)})
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return resp.Body, fileInfo(name, resp), nil
}

// GetFileSpan opens a part of the file at name. The size that comes with it is that
// of the part. The caller closes it.
func (c *Client) GetFileSpan(ctx context.Context, sessionID, name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error) {
	if span == (yurt.Span{}) {
		return c.GetFile(ctx, sessionID, name)
	}
	resp, err := c.send(ctx, call{
		method: http.MethodGet, path: filePath(sessionID, name),
		header: http.Header{"Range": {"bytes=" + rangeOf(span)}},
	})
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	content := resp.Body
	if span.Offset < 0 && span.Length > 0 { // HTTP has no word for a part that ends before the end
		content = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, span.Length), resp.Body}
		resp.ContentLength = min(resp.ContentLength, span.Length)
	}
	return content, fileInfo(name, resp), nil
}

func rangeOf(span yurt.Span) string {
	switch {
	case span.Offset < 0:
		return strconv.FormatInt(span.Offset, 10)
	case span.Length == 0:
		return strconv.FormatInt(span.Offset, 10) + "-"
	default:
		return strconv.FormatInt(span.Offset, 10) + "-" + strconv.FormatInt(span.Offset+span.Length-1, 10)
	}
}

func fileInfo(name string, resp *http.Response) yurt.FileInfo {
	info := yurt.FileInfo{Path: name, Type: yurt.FileRegular, Size: resp.ContentLength, ETag: resp.Header.Get("ETag")}
	if modified, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		info.ModTime = modified.In(time.UTC)
	}
	return info
}

// StatFile describes the file at name, not following a link.
func (c *Client) StatFile(ctx context.Context, sessionID, name string) (yurt.FileInfo, error) {
	var page FilePage
	err := c.get(ctx, sessionPath(sessionID)+"/files", url.Values{"stat": {name}}, &page)
	if err != nil || len(page.Files) != 1 {
		return yurt.FileInfo{}, err
	}
	return page.Files[0], nil
}

// FilePage is a page of a list of files.
type FilePage struct {
	Files      []yurt.FileInfo `json:"files"`
	NextCursor string          `json:"next_cursor"` // empty on the last page
}

// ListFilesOptions are the options of a list. The zero value lists the entries of the directory
// itself.
type ListFilesOptions struct {
	Depth  int // levels below the directory; 0 means 1
	Limit  int // entries a page; 0 means the server's default
	Cursor string
}

// ListFiles lists the files below the directory at name; "" is the workspace.
func (c *Client) ListFiles(ctx context.Context, sessionID, name string, options ListFilesOptions) (FilePage, error) {
	query := url.Values{"list": {name}}
	if options.Depth != 0 {
		query.Set("depth", strconv.Itoa(options.Depth))
	}
	if options.Limit != 0 {
		query.Set("limit", strconv.Itoa(options.Limit))
	}
	if options.Cursor != "" {
		query.Set("cursor", options.Cursor)
	}
	var page FilePage
	err := c.get(ctx, sessionPath(sessionID)+"/files", query, &page)
	return page, err
}

// MakeDir makes the directory at name and those above it. One that is there is no
// error. Mode 0 is 0755.
func (c *Client) MakeDir(ctx context.Context, sessionID, name string, mode yurt.FileMode) (yurt.FileInfo, error) {
	query := url.Values{"directory": {"true"}}
	if mode != 0 {
		query.Set("mode", mode.String())
	}
	var info yurt.FileInfo
	err := c.roundTrip(ctx, call{method: http.MethodPut, path: filePath(sessionID, name), query: query}, &info)
	return info, err
}

// RemoveFile removes the file at name. A directory must be empty, unless all is set.
func (c *Client) RemoveFile(ctx context.Context, sessionID, name string, all bool) error {
	query := url.Values{}
	if all {
		query.Set("recursive", "true")
	}
	return c.roundTrip(ctx, call{method: http.MethodDelete, path: filePath(sessionID, name), query: query}, nil)
}

// MoveFile moves the file at name to the path to. It replaces a file only where replace says so.
func (c *Client) MoveFile(ctx context.Context, sessionID, name, to string, replace bool) (yurt.FileInfo, error) {
	return c.patchFile(ctx, sessionID, name, filePatch{Path: to, Overwrite: replace})
}

// ChmodFile sets the permission bits of the file at name.
func (c *Client) ChmodFile(ctx context.Context, sessionID, name string, mode yurt.FileMode) (yurt.FileInfo, error) {
	return c.patchFile(ctx, sessionID, name, filePatch{Mode: &mode})
}

type filePatch struct {
	Path      string         `json:"path,omitempty"`
	Overwrite bool           `json:"overwrite,omitempty"`
	Mode      *yurt.FileMode `json:"mode,omitempty"`
}

func (c *Client) patchFile(ctx context.Context, sessionID, name string, patch filePatch) (yurt.FileInfo, error) {
	what, err := postJSON(filePath(sessionID, name), patch)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	what.method = http.MethodPatch
	var info yurt.FileInfo
	err = c.roundTrip(ctx, what, &info)
	return info, err
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
