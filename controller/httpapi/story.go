package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

type (
	storyInput struct {
		SessionParams
		paging.WholeParams
		Accept      string `header:"Accept" hidden:"true"`
		LastEventID string `header:"Last-Event-ID" pattern:"^[0-9]{0,9}$" patternDescription:"the number of an event" doc:"For a stream: number of the last event that the client has received; the stream continues after it."`
		After       int    `query:"after" minimum:"0" maximum:"999999999" doc:"The same for clients that cannot set headers. Last-Event-ID takes precedence."`
	}
	transitionList struct {
		Events     []yurt.Transition `json:"events" doc:"Oldest first."`
		NextCursor string            `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
	// sessionEvent is a transition as it is on a stream.
	sessionEvent struct {
		Seq int `json:"seq" minimum:"1" doc:"Number of the event, from 1; also the event's id."`
		yurt.Transition
	}
)

// typeTransition is the type of the events of a session.
const typeTransition = "transition"

func (a *API) registerStory() {
	register(a, huma.Operation{
		OperationID: "list-session-events", Method: http.MethodGet, Path: "/sessions/{id}/events",
		Summary: "List or watch the changes of a session's state", Tags: []string{tagSessions},
		Description: "Each change has a time and a reason. With `Accept: text/event-stream` the response is a stream of numbered events of type `transition`, from the first or " +
			"after `Last-Event-ID`, each with one change. The stream continues with new changes and ends after the change to `terminated` or `failed`. " +
			"A client that reconnects after the last change gets status 204, which makes an EventSource stop.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The changes.", Content: map[string]*huma.MediaType{
				typeJSON:        {Schema: schemaOf[transitionList](a, "TransitionList")},
				typeEventStream: {Schema: eventSchema(schemaOf[sessionEvent](a, "SessionEvent"))},
			}},
			"204": {Description: "The session has ended and has no change after that number."},
		},
	}, a.tellStory)
}

// tellStory answers with a page of the transitions of a session, or with a stream of them.
func (a *API) tellStory(ctx context.Context, in *storyInput) (*huma.StreamResponse, error) {
	if !wantsEvents(in.Accept) {
		return a.listTransitions(ctx, in)
	}
	after := in.After
	if in.LastEventID != "" {
		number, err := eventNumber(in.LastEventID)
		if err != nil {
			return nil, err
		}
		after = int(number) //nolint:gosec // it has nine digits at most
	}
	over, err := storyIsOver(ctx, a.ctl, in.ID, after)
	if err != nil {
		return nil, err
	}
	if over {
		return &huma.StreamResponse{Body: func(ctx huma.Context) { ctx.SetStatus(http.StatusNoContent) }}, nil
	}
	return a.streamStory(in.ID, after), nil
}

// storyIsOver reports whether no transition of a session can come after so many.
func storyIsOver(ctx context.Context, sessions *controller.Controller, id string, after int) (bool, error) {
	session, err := sessions.Session(ctx, id)
	if err != nil || !session.State.Ended() {
		return false, err
	}
	story, err := sessions.Transitions(ctx, id)
	return after >= len(story), err
}

// streamStory answers with the transitions of a session after so many.
func (a *API) streamStory(id string, after int) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		again := "connect again with Last-Event-ID"
		a.stream(ctx, advice{drain: again, broken: again}, func(watching context.Context, stream *eventStream) error {
			return a.ctl.FollowTransitions(watching, id, after, func(number int, t yurt.Transition) error {
				return stream.send(uint64(number), typeTransition, sessionEvent{number, t}) //nolint:gosec // it counts from 1
			})
		})
	}}
}

func (a *API) listTransitions(ctx context.Context, in *storyInput) (*huma.StreamResponse, error) {
	list, err := a.ctl.Transitions(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all := make([]sessionEvent, len(list))
	for n, transition := range list { // a story grows at its end alone
		all[n] = sessionEvent{n, transition}
	}
	page, next, err := paging.Cut(in.WholeParams, all, nil, func(e sessionEvent) contract.Position { return paging.Numbered(e.Seq) })
	if err != nil {
		return nil, err
	}
	events := make([]yurt.Transition, len(page))
	for n, e := range page {
		events[n] = e.Transition
	}
	return respond(http.StatusOK, transitionList{events, next}), nil
}
