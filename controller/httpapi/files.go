package httpapi

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
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
		Path string `path:"path" doc:"Below the workspace; may hold slashes." example:"data/input.csv"`
	}
	putFileInput struct {
		FileParams
		rawRequest
	}
	putFileOutput struct{ Body yurt.FileInfo }
)

func (a *API) registerFiles() {
	const path = "/sessions/{id}/files/{path}"
	binary := map[string]*huma.MediaType{typeOctetStream: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	register(a, huma.Operation{
		OperationID: "put-file", Method: http.MethodPut, Path: path, DefaultStatus: http.StatusCreated,
		Summary: "Write a file", Tags: []string{tagFiles},
		Description: "Replaces the file with the body, at once and whole or not at all. Directories are made. At most 16Gi.",
	}, a.putFile)
	a.documentBody(a.registered(http.MethodPut, path), binary)
	register(a, huma.Operation{
		OperationID: "get-file", Method: http.MethodGet, Path: path,
		Summary: "Read a file", Tags: []string{tagFiles},
		Responses: map[string]*huma.Response{"200": {Description: "The content.", Content: binary}},
	}, a.getFile)
}

func (a *API) putFile(ctx context.Context, in *putFileInput) (*putFileOutput, error) {
	if in.request.ContentLength > yurt.MaxFileBytes {
		return nil, yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "the file is larger than the %s that are allowed", yurt.Size(yurt.MaxFileBytes))
	}
	body := &uploadReader{from: in.request.Body, conn: in.conn}
	info, err := a.ctl.WriteFile(ctx, in.ID, in.Path, body, yurt.WriteOptions{})
	body.done()
	if err != nil {
		if body.failed && yurt.CodeOf(err) == yurt.CodeInternal {
			return nil, yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole; the file is as it was")
		}
		return nil, err
	}
	return &putFileOutput{Body: info}, nil
}

// uploadReader reads a body that may take long, but must not stall.
type uploadReader struct {
	from   io.Reader
	conn   *http.ResponseController
	failed bool
}

func (r *uploadReader) Read(p []byte) (int, error) {
	// Where no deadline can be set, as in a test without a connection, none is needed.
	_ = r.conn.SetReadDeadline(time.Now().Add(uploadStall))
	n, err := r.from.Read(p)
	r.failed = r.failed || (err != nil && err != io.EOF)
	return n, err
}

// done takes the deadline back: left in force it would end the connection.
func (r *uploadReader) done() { _ = r.conn.SetReadDeadline(time.Time{}) }

func (a *API) getFile(ctx context.Context, in *FileParams) (*huma.StreamResponse, error) {
	content, info, err := a.ctl.ReadFile(ctx, in.ID, in.Path, yurt.Span{})
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer content.Close()
		ctx.SetHeader("Content-Type", typeOctetStream)
		ctx.SetHeader("Content-Length", strconv.FormatInt(info.Size, 10))
		ctx.SetHeader("Content-Disposition", "attachment") // never shown as a page of this origin
		ctx.SetHeader("Last-Modified", info.ModTime.UTC().Format(http.TimeFormat))
		ctx.SetStatus(http.StatusOK)
		if ctx.Method() == http.MethodHead {
			return
		}
		// The length is promised: a file that grows meanwhile is cut, and one that
		// shrinks breaks the connection, which tells the client.
		if n, err := io.CopyN(ctx.BodyWriter(), content, info.Size); err != nil {
			a.log.WarnContext(ctx.Context(), "sending a file", "session", in.ID, "sent", n, "size", info.Size, "error", err)
		}
	}}, nil
}
