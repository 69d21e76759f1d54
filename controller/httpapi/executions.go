package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

type (
	latestInput struct {
		SessionParams
		ExecutionID string `query:"execution_id" doc:"Default: the session's latest."`
	}
	// ExecutionParams names an execution; exported as [SessionParams] is.
	ExecutionParams struct {
		SessionParams
		ExecutionID string `path:"execution_id" example:"exe_4tqzplnr3mzsyzsylstojxrtb4"`
	}
	eventsInput struct {
		ExecutionParams
		LastEventID string `header:"Last-Event-ID" pattern:"^[0-9]{0,15}$" patternDescription:"the number of an event" doc:"Number of the last event that the client has received; the stream continues after it."`
		After       uint64 `query:"after" maximum:"9007199254740991" doc:"The same for clients that cannot set headers. Last-Event-ID takes precedence."`

		socket bool // it is to be a WebSocket
	}
	listExecutionsInput struct {
		SessionParams
		paging.Params
		State    yurt.ExecutionState `query:"state" enum:"pending,running,succeeded,failed" doc:"Only executions in this state."`
		Kind     yurt.ExecutionKind  `query:"kind" enum:"code,command,handler" doc:"Only executions of this kind."`
		Language string              `query:"language" maxLength:"64" pattern:"^[a-z0-9+#._-]*$" patternDescription:"the name of a language" doc:"Only executions with this language in their record." example:"python"`

		CreatedAfter  time.Time `query:"created_after" doc:"Only executions that started at this time or later."`
		CreatedBefore time.Time `query:"created_before" doc:"Only executions that started before this time."`
	}
	listExecutionsOutput struct{ Body executionList }
	executionList        struct {
		Executions []yurt.Execution `json:"executions" doc:"The executions without results, newest first."`
		NextCursor string           `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

func (a *API) registerExecutions() {
	register(a, huma.Operation{
		OperationID: "get-status", Method: http.MethodGet, Path: "/sessions/{id}/status",
		Summary: "Show the latest execution of a session", Tags: []string{TagExecutions},
		Responses: answersWith[executionBody](a, "ExecutionRecord"),
	}, a.getStatus)
	register(a, huma.Operation{
		OperationID: "get-result", Method: http.MethodGet, Path: "/sessions/{id}/result",
		Summary: "Show the result of the latest execution", Tags: []string{TagExecutions},
		Description: "While the execution runs, the status is 409 with the code `execution_running`. Results are kept for a day after the session's end, or for the time that the operator has set.",
		Responses:   answersWith[resultBody](a, "ExecutionResult"),
	}, a.getResult)
	register(a, huma.Operation{
		OperationID: "list-executions", Method: http.MethodGet, Path: "/sessions/{id}/executions",
		Summary: "List the executions of a session", Tags: []string{TagExecutions},
	}, a.listExecutions)
	register(a, huma.Operation{
		OperationID: "get-execution", Method: http.MethodGet, Path: "/sessions/{id}/executions/{execution_id}",
		Summary: "Show an execution", Tags: []string{TagExecutions},
		Responses: answersWith[executionBody](a, "ExecutionRecord"),
	}, a.getExecution)
	register(a, huma.Operation{
		OperationID: "watch-execution", Method: http.MethodGet, Path: "/sessions/{id}/executions/{execution_id}/events",
		Summary: "Watch an execution", Tags: []string{TagExecutions},
		Description: "Streams numbered events, from the first or after `Last-Event-ID`, to the one of the execution's end. Any number of clients can watch, also after the end. " +
			"An event keeps its number as long as the result is kept. Events that cannot be repeated, such as the pieces of a streamed response or output that is not UTF-8, are replaced by one event of type `gap`, which names the missing numbers and bytes; the result in the last event has the output as text. " +
			"A WebSocket client gets each event as a text message with the same object, and the close status 1000 after the last.",
		Responses: map[string]*huma.Response{
			"101": {Description: "The events, by WebSocket."},
			"200": {Description: "The events.", Content: map[string]*huma.MediaType{typeEventStream: {Schema: eventSchema(schemaOf[eventBody](a, "Event"))}}},
		},
	}, a.watchExecution)
}

func (a *API) getStatus(ctx context.Context, in *latestInput) (*huma.StreamResponse, error) {
	e, err := a.ctl.Execution(ctx, in.ID, in.ExecutionID)
	return respondExecution(a.log, e), err
}

// respondExecution answers with the record of an execution, with its result once it has ended.
func respondExecution(log *slog.Logger, e yurt.Execution) *huma.StreamResponse {
	return respondOutput(log, e.Result, func(result *yurt.Result) any {
		e.Result = result
		return newExecutionBody(e)
	})
}

func (a *API) getResult(ctx context.Context, in *latestInput) (*huma.StreamResponse, error) {
	e, err := a.ctl.Execution(ctx, in.ID, in.ExecutionID)
	if err != nil {
		return nil, err
	}
	if !e.State.Ended() {
		return nil, yurt.Errorf(yurt.CodeExecutionRunning, "execution %s is still running; ask again later, or watch its events", e.ID)
	}
	return respondResult(a.log, e)
}

// Resolve implements huma.Resolver.
func (in *listExecutionsInput) Resolve(ctx huma.Context) []error {
	return paging.CheckTimes(ctx, "created_after", "created_before")
}

func (a *API) listExecutions(ctx context.Context, in *listExecutionsInput) (*listExecutionsOutput, error) {
	list := func(before contract.Position, limit int) ([]yurt.Execution, error) {
		return a.ctl.Executions(ctx, in.ID, contract.ExecutionQuery{
			State: in.State, Kind: in.Kind, Language: in.Language,
			Created: contract.Period{Since: in.CreatedAfter, Until: in.CreatedBefore}, Before: before, Limit: limit,
		})
	}
	page, next, err := paging.Page(in.Params, list, func(e yurt.Execution) contract.Position {
		return contract.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return &listExecutionsOutput{Body: executionList{Executions: page, NextCursor: next}}, err
}

func (a *API) getExecution(ctx context.Context, in *ExecutionParams) (*huma.StreamResponse, error) {
	e, err := a.ctl.Execution(ctx, in.ID, in.ExecutionID)
	return respondExecution(a.log, e), err
}

// Resolve implements huma.Resolver.
func (in *eventsInput) Resolve(ctx huma.Context) []error {
	if in.socket = asksForSocket(ctx); !in.socket {
		return nil
	}
	return checkOrigin(ctx, "streams")
}

func (a *API) watchExecution(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	after := in.After
	if in.LastEventID != "" {
		var err error
		if after, err = eventNumber(in.LastEventID); err != nil {
			return nil, err
		}
	}
	e, err := a.ctl.Execution(ctx, in.ID, in.ExecutionID)
	if err != nil {
		return nil, err
	}
	if in.socket {
		return a.socketEvents(e, after), nil
	}
	return a.streamEvents(e, streaming{after: after}), nil
}
