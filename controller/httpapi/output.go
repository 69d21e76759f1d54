package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/outputjson"
)

// answersWith documents an answer that is written as a stream.
func answersWith[T any](a *API, name string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[T](a, name)}},
	}}
}

// respondOutput answers with a body that has a result in it. Large output goes from the store to the client piece by piece. When
// it cannot be read to its end the connection ends, lest a client take a part for the whole.
func respondOutput(log *slog.Logger, result *yurt.Result, body func(*yurt.Result) any, headers ...string) *huma.StreamResponse {
	marked, output := outputjson.Mark(result)
	if marked == result {
		return respond(http.StatusOK, body(result), headers...)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		for i := 0; i+1 < len(headers); i += 2 {
			ctx.SetHeader(headers[i], headers[i+1])
		}
		ctx.SetHeader("Content-Type", typeJSON)
		ctx.SetStatus(http.StatusOK)
		var encoded bytes.Buffer
		err := writeJSON(&encoded, body(marked))
		if err == nil {
			err = output.Write(ctx.Context(), ctx.BodyWriter(), encoded.Bytes())
		}
		if err != nil {
			if ctx.Context().Err() == nil {
				log.WarnContext(ctx.Context(), "an answer broke off", "request_id", requestID(ctx.Context()), "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}}
}

// sendOutput queues the last event of an execution, the output of its result piece by piece.
func (s *eventStream) sendOutput(ctx context.Context, e yurt.Event, of yurt.Execution) error {
	encode := newEventBody(e, of)
	marked, output := outputjson.Mark(e.Result)
	if marked == e.Result {
		return s.send(e.Seq, string(e.Type), encode)
	}
	encode.Result = marked
	var head bytes.Buffer
	if err := writeEvent(&head, e.Seq, string(e.Type), encode); err != nil {
		return err
	}
	s.allowNoComment()
	return output.Write(ctx, s, head.Bytes())
}

// Write queues a part of an event; it waits while the watcher is far behind.
func (s *eventStream) Write(part []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(); err != nil {
		return 0, err
	}
	s.notify()
	return s.pending.Write(part)
}

// allowNoComment says that the last event follows: no comment may come in the middle of it, nor after it, also when it broke off.
func (s *eventStream) allowNoComment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = true
}
