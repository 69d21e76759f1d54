package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
)

const (
	typeTar      = "application/x-tar"
	maxTreeQuery = 64 << 10 // bytes of a JSON body that names a directory
)

type (
	archiveInput struct {
		SessionParams
		Path string `query:"path" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" patternDescription:"a path without control characters, such as line breaks" doc:"Directory for the unpacked archive. Default: the workspace. It is created if missing."`
		rawRequest
	}
	archiveRequest struct {
		Path string `json:"path,omitempty" doc:"Directory to pack. Default: the workspace." example:"build"`
	}
	watchFilesInput struct {
		SessionParams
		Path      string `query:"path" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" patternDescription:"a path without control characters, such as line breaks" doc:"The directory. Default: the workspace."`
		Recursive bool   `query:"recursive" doc:"Watch subdirectories, too, at most 1024."`
	}
	// fileEventBody is the data of one event of a watch.
	fileEventBody struct {
		Seq uint64 `json:"seq" doc:"Number of the event, from 1 on each connection."`
		yurt.FileEvent
	}
)

func (a *API) registerTrees() {
	const path = "/sessions/{id}/files/archive"
	unpacked := schemaOf[yurt.Unpacked](a, "Unpacked")
	tar := binaryContent(typeTar)
	register(a, huma.Operation{
		OperationID: "archive-files", Method: http.MethodPost, Path: path,
		Summary: "Unpack or pack a directory", Tags: []string{tagFiles},
		Description: "A tar archive as the body is unpacked: only files, directories and links, and only with names inside the directory; the response counts them. " +
			"Files that were unpacked before an error stay. With a JSON body, the response is the named directory as a tar archive; if packing fails, the connection breaks.",
		Responses: map[string]*huma.Response{"200": {Description: "The count of unpacked files, or the archive.", Content: map[string]*huma.MediaType{
			typeJSON: {Schema: unpacked}, typeTar: tar[typeTar],
		}}},
	}, a.archiveFiles)
	a.documentBody(a.registered(http.MethodPost, path), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[archiveRequest](a, "ArchiveRequest")}, typeTar: tar[typeTar],
	})
	a.registered(http.MethodPost, path).RequestBody.Required = false // an empty body is an empty archive
	register(a, huma.Operation{
		OperationID: "watch-files", Method: http.MethodGet, Path: "/sessions/{id}/watch",
		Summary: "Watch a directory", Tags: []string{tagFiles},
		Description: "Streams the changes of files until the directory or the session is gone. Changes are not kept for later clients: list the directory after connecting, and again after the event `lost`.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The events.", Content: map[string]*huma.MediaType{typeEventStream: {Schema: eventSchema(schemaOf[fileEventBody](a, "FileEvent"))}}},
		},
	}, a.watchFiles)
}

func (a *API) archiveFiles(ctx context.Context, in *archiveInput) (*huma.StreamResponse, error) {
	if checkType(in.request.Header.Get("Content-Type"), []string{typeTar}) == nil {
		return a.unpackFiles(ctx, in)
	}
	if err := checkType(in.request.Header.Get("Content-Type"), []string{typeJSON, typeTar}); err != nil {
		return nil, err
	}
	body := &uploadReader{from: io.LimitReader(in.request.Body, maxTreeQuery), conn: in.conn}
	data, err := io.ReadAll(body)
	if body.done(); err != nil {
		return nil, yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole")
	}
	var request archiveRequest
	if err := decodeStrict(data, &request); err != nil {
		return nil, err
	}
	return a.packFiles(in.ID, request.Path), nil
}

func (a *API) unpackFiles(ctx context.Context, in *archiveInput) (*huma.StreamResponse, error) {
	body := &uploadReader{from: in.request.Body, conn: in.conn}
	done, err := a.ctl.UnpackFiles(ctx, in.ID, in.Path, body)
	body.done()
	if err != nil {
		return nil, body.explain(err, true)
	}
	return respond(http.StatusOK, done), nil
}

// packFiles answers with an archive, or with a problem if the directory does not exist.
func (a *API) packFiles(session, path string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		answer := &archiveAnswer{ctx: ctx, conn: http.NewResponseController(w)}
		err := a.ctl.PackFiles(ctx.Context(), session, path, answer)
		switch {
		case err == nil:
		case !answer.begun:
			writeProblem(w, a.problemOf(ctx.Context(), err))
		default:
			a.log.WarnContext(ctx.Context(), "sending an archive", "session", session, "error", err)
			panic(http.ErrAbortHandler) // a client must not take a part for the whole
		}
	}}
}

// archiveAnswer begins the answer with the first byte of the archive.
type archiveAnswer struct {
	ctx   huma.Context
	conn  *http.ResponseController
	begun bool
}

func (w *archiveAnswer) Write(data []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.ctx.SetHeader("Content-Type", typeTar)
		w.ctx.SetHeader("Content-Disposition", "attachment")
		w.ctx.SetStatus(http.StatusOK)
		_ = w.conn.Flush() // tells a client that waits for a slow archive that it comes
	}
	return w.ctx.BodyWriter().Write(data)
}

func (a *API) watchFiles(_ context.Context, in *watchFilesInput) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		watching, cancel := a.untilDrain(ctx.Context())
		defer cancel()
		var (
			stream  *eventStream
			writing chan struct{}
			seq     uint64
		)
		begin := func() {
			beginEvents(ctx)
			stream, writing = newEventStream(w), make(chan struct{})
			go func() {
				defer close(writing)
				if !stream.write(a.config.Heartbeat) {
					cancel()
				}
			}()
		}
		a.metrics.streams.Inc()
		defer a.metrics.streams.Dec()
		err := a.ctl.WatchFiles(watching, in.ID, in.Path, in.Recursive, begin, func(event yurt.FileEvent) error {
			seq++
			return stream.send(seq, string(event.Type), fileEventBody{Seq: seq, FileEvent: event})
		})
		if stream == nil {
			writeProblem(w, a.problemOf(ctx.Context(), err))
			return
		}
		switch {
		case err == nil:
			stream.close("the directory or the session is gone")
		case errors.Is(context.Cause(watching), errDraining):
			stream.close("the server is shutting down")
		default:
			stream.close("the watch broke off; connect again")
		}
		<-writing
	}}, nil
}
