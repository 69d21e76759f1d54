package httpapi

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

// logBody is an entry of a log.
type logBody struct {
	ExecutionID string         `json:"execution_id,omitempty"`
	Type        yurt.EventType `json:"type" enum:"stdout,stderr,ended"`
	At          time.Time      `json:"at"`
	Data        *string        `json:"data,omitempty"`
	DataBase64  []byte         `json:"data_base64,omitempty" doc:"Replaces data if the output is not UTF-8."`
}

func newLogBody(e yurt.LogEntry) logBody {
	body := logBody{ExecutionID: e.ExecutionID, Type: e.Type, At: e.At}
	if utf8.Valid(e.Data) {
		text := string(e.Data)
		body.Data = &text
	} else {
		body.DataBase64 = e.Data
	}
	return body
}

type (
	// LogParams are the size of a log and whether to follow it; exported as [SessionParams] is.
	LogParams struct {
		Limit  int  `query:"limit" minimum:"1" maximum:"16777216" default:"262144" doc:"Largest number of bytes of earlier output; the newest bytes are returned."`
		Follow bool `query:"follow" doc:"Continue with new output as server-sent events until the session has ended."`
	}
	logsInput struct {
		SessionParams
		LogParams
	}
	containerLogsInput struct {
		ID string `path:"id" example:"sbx_4tqzplnr3mzsyzsylstojxrtb4"`
		LogParams
	}
	logList struct {
		Logs      []logBody `json:"logs" doc:"The output, the newest execution last."`
		Truncated bool      `json:"truncated" doc:"Older output was left out."`
	}
)

func (a *API) registerLogs() {
	register(a, huma.Operation{
		OperationID: "get-session-logs", Method: http.MethodGet, Path: "/sessions/{id}/logs",
		Summary: "Show the output of a session's executions", Tags: []string{tagSessions},
		Description: "Returns the output to stdout and stderr. With `follow` the response is a stream of events `stdout` and `stderr`, each with one entry, and a last event, `ended`, " +
			"after the session's end. To get the complete output of one execution, watch its events, which are numbered.",
		Responses: logResponses(a),
	}, a.getLogs)
	register(a, huma.Operation{
		OperationID: "get-container-logs", Method: http.MethodGet, Path: "/containers/{id}/logs",
		Summary: "Show the output of the executions in a sandbox", Tags: []string{TagContainers},
		Description: "The same as the log of its session, which remains when the sandbox is gone. A warm sandbox has no session and no log. The output of a Nomad task is in Nomad: `nomad alloc logs`.",
		Responses:   logResponses(a),
	}, func(ctx context.Context, in *containerLogsInput) (*huma.StreamResponse, error) {
		sandbox, err := a.ctl.Sandbox(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		session := sandbox.Labels[yurt.SessionLabel]
		if session == "" {
			return nil, yurt.Errorf(yurt.CodeSessionNotFound, "sandbox %s has no session, so no execution has written in it", in.ID)
		}
		return a.getLogs(ctx, &logsInput{SessionParams{session}, in.LogParams})
	})
}

func logResponses(a *API) map[string]*huma.Response {
	return map[string]*huma.Response{
		"200": {Description: "The log, or with `follow` the events.", Content: map[string]*huma.MediaType{
			typeJSON:        {Schema: schemaOf[logList](a, "Log")},
			typeEventStream: {Schema: eventSchema(schemaOf[logBody](a, "LogEntry"))},
		}},
	}
}

func (a *API) getLogs(ctx context.Context, in *logsInput) (*huma.StreamResponse, error) {
	if in.Follow {
		if _, err := a.ctl.Session(ctx, in.ID); err != nil {
			return nil, err
		}
		return a.streamLogs(in), nil
	}
	entries, truncated, err := a.ctl.Logs(ctx, in.ID, in.Limit)
	if err != nil {
		return nil, err
	}
	list := logList{Logs: make([]logBody, len(entries)), Truncated: truncated}
	for i, e := range entries {
		list.Logs[i] = newLogBody(e)
	}
	return respond(http.StatusOK, list), nil
}

// streamLogs answers with the log as it grows.
func (a *API) streamLogs(in *logsInput) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		a.stream(ctx, advice{drain: "connect again", broken: "connect again"}, func(watching context.Context, stream *eventStream) error {
			number := uint64(0)
			send := func(body logBody) error {
				number++
				return stream.send(number, string(body.Type), body)
			}
			err := a.ctl.FollowLogs(watching, in.ID, in.Limit, func(e yurt.LogEntry) error { return send(newLogBody(e)) })
			if err != nil {
				return err
			}
			return send(logBody{Type: yurt.EventEnded, At: time.Now().UTC()})
		})
	}}
}
