package httpapi

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi/internal/conditional"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

// uploadStall is how long an upload may pause.
const uploadStall = time.Minute

// rawRequest is the request itself, for a body that is streamed. It is part of an
// operation's input; huma calls Resolve.
type rawRequest struct {
	request *http.Request
	conn    *http.ResponseController
}

// Resolve implements huma.Resolver.
func (r *rawRequest) Resolve(ctx huma.Context) []error {
	request, w := humago.Unwrap(ctx)
	r.request, r.conn = request, http.NewResponseController(w)
	return nil
}

type (
	// FileParams names a file of a session; exported as [SessionParams] is.
	FileParams struct {
		SessionParams
		Path string `path:"path" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" patternDescription:"a path without control characters, such as line breaks" doc:"Path relative to the workspace; may contain slashes." example:"data/input.csv"`
	}
	putFileInput struct {
		FileParams
		Append    bool   `query:"append" doc:"Append the body to the file instead of replacing it."`
		Directory bool   `query:"directory" doc:"Create a directory and missing parent directories. The request has no body."`
		Match     string `header:"If-Match" maxLength:"4096" doc:"ETags, or * for any. The file is replaced only if it has one of them; otherwise the answer is 412 with the present ETag. Not with append or directory."`
		NoneMatch string `header:"If-None-Match" maxLength:"4096" doc:"With * the file is written only if it does not exist. Not with append or directory."`
		Mode      string `query:"mode" pattern:"^(0*[0-7]{1,3})?$" patternDescription:"three octal digits, such as 644" doc:"Permission bits in octal, such as 755. Default: those of the existing file, else 644, and 755 for a directory."`
		rawRequest
	}
	getFileInput struct {
		FileParams
		Range   string `header:"Range" doc:"One range of bytes, such as bytes=0-1023 or bytes=-100."`
		IfRange string `header:"If-Range" doc:"ETag of the file for the range. If the file has another ETag, the whole file is sent."`
		Has     string `header:"If-None-Match" maxLength:"4096" doc:"ETags. A file with one of them is not sent."`
	}
	deleteFileInput struct {
		FileParams
		Recursive bool `query:"recursive" doc:"Delete a directory with its contents. Without it, the directory must be empty."`
	}
	patchFileInput struct {
		FileParams
		jsonBody[filePatch]
	}
	filePatch struct {
		Path      string         `json:"path,omitempty" doc:"Move the file to this path. Missing directories are created." example:"data/old.csv"`
		Overwrite bool           `json:"overwrite,omitempty" doc:"Replace an existing file at the new path. A directory is never replaced."`
		Mode      *yurt.FileMode `json:"mode,omitempty" doc:"Permission bits in octal." example:"755"`
	}
	listFilesInput struct {
		SessionParams
		List   string `query:"list" doc:"The directory. Default: the workspace."`
		Stat   string `query:"stat" doc:"Describe only the file or directory at this path: the response has one entry."`
		Depth  int    `query:"depth" minimum:"1" maximum:"128" default:"1" doc:"Number of directory levels to list."`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Entries per page."`
		Cursor string `query:"cursor" maxLength:"8192" pattern:"^[A-Za-z0-9_-]*$" patternDescription:"the next_cursor of a page" doc:"next_cursor of the previous page."`
	}
	fileList struct {
		Files      []yurt.FileInfo `json:"files" doc:"Sorted by name, a directory before its contents. Links are not followed."`
		NextCursor string          `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
	fileOutput    struct{ Body yurt.FileInfo }
	putFileOutput struct {
		ETag string `header:"ETag" doc:"Of the file."`
		Body yurt.FileInfo
	}
	listFilesOutput struct{ Body fileList }
)

func (a *API) registerFiles() {
	const path = "/sessions/{id}/files/{path}"
	register(a, huma.Operation{
		OperationID: "put-file", Method: http.MethodPut, Path: path, DefaultStatus: http.StatusCreated,
		Summary: "Write a file, or make a directory", Tags: []string{tagFiles},
		Description: "Replaces the file with the body in one step, or appends the body to it. A failed replacement leaves the old file unchanged. Missing directories are created. At most 16Gi. " +
			"With `If-Match` the file is replaced only if it is still the one that you read, so that no change of another client is lost. A program in the session can change it at any time.",
		Responses: map[string]*huma.Response{"412": preconditionFailed(a)},
	}, a.putFile)
	a.documentBody(a.registered(http.MethodPut, path), binaryContent(typeOctetStream))
	a.registered(http.MethodPut, path).RequestBody.Required = false // a directory has no body
	// Without this, the mux would redirect a write to the list itself to a file without a name.
	a.mux.HandleFunc(prefix+"/sessions/{id}/files", a.unknownRoute)
	register(a, huma.Operation{
		OperationID: "get-file", Method: http.MethodGet, Path: path,
		Summary: "Read a file", Tags: []string{tagFiles},
		Responses: map[string]*huma.Response{
			"200": {Description: "The content.", Content: binaryContent(typeOctetStream), Headers: conditional.Headers()},
			"206": {Description: "The requested range of the content.", Content: binaryContent(typeOctetStream), Headers: conditional.Headers()},
			"304": conditional.NotModifiedResponse(),
		},
	}, a.getFile)
	register(a, huma.Operation{
		OperationID: "delete-file", Method: http.MethodDelete, Path: path,
		Summary: "Delete a file or a directory", Tags: []string{tagFiles},
		Description: "Deleting a link removes the link, not its target.",
	}, a.deleteFile)
	register(a, huma.Operation{
		OperationID: "change-file", Method: http.MethodPatch, Path: path,
		Summary: "Move a file, or change its mode", Tags: []string{tagFiles},
	}, a.patchFile)
	a.documentBody(a.registered(http.MethodPatch, path), map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[filePatch](a, "FilePatch")}})
	register(a, huma.Operation{
		OperationID: "list-files", Method: http.MethodGet, Path: "/sessions/{id}/files",
		Summary: "List files", Tags: []string{tagFiles},
	}, a.listFiles)
}

func binaryContent(mediaType string) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
}

func (a *API) putFile(ctx context.Context, in *putFileInput) (*putFileOutput, error) {
	var options yurt.WriteOptions
	condition, err := conditional.Condition(in.Match, in.NoneMatch)
	if err != nil {
		return nil, err
	}
	if !condition.IsZero() && (in.Append || in.Directory) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "If-Match", "only a file that is replaced can have a condition; leave If-Match and If-None-Match out, or append and directory")
	}
	if in.Mode != "" {
		if options.Mode, err = yurt.ParseFileMode("mode", in.Mode); err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "mode", "the value is not a file mode; give three octal digits, such as 644")
		}
	}
	if in.Directory {
		info, err := a.ctl.MakeDir(ctx, in.ID, in.Path, options.Mode)
		return &putFileOutput{Body: info}, err
	}
	if in.request.ContentLength > yurt.MaxFileBytes {
		return nil, yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "the file is larger than the %s that are allowed", yurt.Size(yurt.MaxFileBytes))
	}
	options.Append, options.If = in.Append, condition
	body := &uploadReader{from: in.request.Body, conn: in.conn}
	info, err := a.ctl.WriteFile(ctx, in.ID, in.Path, body, options)
	body.done()
	return &putFileOutput{ETag: info.ETag, Body: info}, body.explain(err, in.Append)
}

// uploadReader reads a body that may take long, but must not stall.
type uploadReader struct {
	from   io.Reader
	conn   *http.ResponseController
	failed bool
}

func (r *uploadReader) Read(p []byte) (int, error) {
	// The error is ignored: a test without a connection has no deadlines.
	_ = r.conn.SetReadDeadline(time.Now().Add(uploadStall))
	n, err := r.from.Read(p)
	r.failed = r.failed || (err != nil && err != io.EOF)
	return n, err
}

// done takes the deadline back: left in force it would end the connection.
func (r *uploadReader) done() { _ = r.conn.SetReadDeadline(time.Time{}) }

// explain says whose fault it was that a body was not taken.
func (r *uploadReader) explain(err error, inPart bool) error {
	switch {
	case err == nil || !r.failed || yurt.CodeOf(err) != yurt.CodeInternal:
		return err
	case inPart:
		return yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole; what arrived was taken")
	default:
		return yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole; the file is as it was")
	}
}

func (a *API) getFile(ctx context.Context, in *getFileInput) (*huma.StreamResponse, error) {
	content, info, span, err := conditional.Open(in.Range, in.IfRange, func(span yurt.Span) (io.ReadCloser, yurt.FileInfo, error) {
		return a.ctl.ReadFile(ctx, in.ID, in.Path, span)
	})
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer content.Close()
		if conditional.NotModified(ctx, in.Has, info.ETag) {
			return
		}
		start, length, _ := span.In(info.Size)
		ctx.SetHeader("Content-Type", typeOctetStream)
		ctx.SetHeader("Content-Length", strconv.FormatInt(length, 10))
		ctx.SetHeader("Content-Disposition", "attachment") // never shown as a page of this origin
		ctx.SetHeader("Last-Modified", info.ModTime.UTC().Format(http.TimeFormat))
		ctx.SetHeader("Accept-Ranges", "bytes")
		if span == (yurt.Span{}) {
			ctx.SetStatus(http.StatusOK)
		} else {
			ctx.SetHeader("Content-Range", "bytes "+strconv.FormatInt(start, 10)+"-"+strconv.FormatInt(start+length-1, 10)+"/"+strconv.FormatInt(info.Size, 10))
			ctx.SetStatus(http.StatusPartialContent)
		}
		if ctx.Method() == http.MethodHead {
			return
		}
		// The length is promised: a file that grows meanwhile is cut, and one that
		// shrinks breaks the connection, which tells the client.
		if n, err := io.CopyN(ctx.BodyWriter(), content, length); err != nil {
			a.log.WarnContext(ctx.Context(), "sending a file", "session", in.ID, "sent", n, "size", length, "error", err)
		}
	}}, nil
}

func (a *API) deleteFile(ctx context.Context, in *deleteFileInput) (*struct{}, error) {
	return nil, a.ctl.RemoveFile(ctx, in.ID, in.Path, in.Recursive)
}

func (a *API) patchFile(ctx context.Context, in *patchFileInput) (*fileOutput, error) {
	name, patch := in.Path, in.value
	if patch.Path == "" && patch.Mode == nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "there is nothing to change; give path or mode, or both")
	}
	var (
		info yurt.FileInfo
		err  error
	)
	if patch.Mode != nil {
		if info, err = a.ctl.ChmodFile(ctx, in.ID, name, *patch.Mode); err != nil {
			return nil, err
		}
	}
	if patch.Path != "" {
		info, err = a.ctl.MoveFile(ctx, in.ID, name, patch.Path, patch.Overwrite)
	}
	return &fileOutput{Body: info}, err
}

func (a *API) listFiles(ctx context.Context, in *listFilesInput) (*listFilesOutput, error) {
	if in.Stat != "" {
		info, err := a.ctl.StatFile(ctx, in.ID, in.Stat)
		return &listFilesOutput{Body: fileList{Files: []yurt.FileInfo{info}}}, err
	}
	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "cursor", "this is no cursor of this list; use the next_cursor of the page before")
	}
	list, err := a.ctl.ListFiles(ctx, in.ID, in.List, yurt.ListOptions{Depth: in.Depth, Limit: in.Limit, After: string(after)})
	if err != nil {
		return nil, err
	}
	body := fileList{Files: paging.OrEmpty(list.Files)}
	if list.More {
		body.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(list.Files[len(list.Files)-1].Path))
	}
	return &listFilesOutput{Body: body}, nil
}
