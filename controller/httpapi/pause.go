package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

// timeoutBody is the body of POST /sessions/{id}/timeout.
type timeoutBody struct {
	Timeout     *durationParam `json:"timeout,omitempty" doc:"Lifetime since its creation, 1s to 168h."`
	IdleTimeout *durationParam `json:"idle_timeout,omitempty" doc:"Since the last use, 1s to 168h."`
}

type timeoutInput struct {
	SessionParams
	jsonBody[timeoutBody]
}

func (a *API) registerPause() {
	register(a, huma.Operation{
		OperationID: "pause-session", Method: http.MethodPost, Path: "/sessions/{id}/pause",
		Summary: "Pause a session", Tags: []string{tagSessions},
		Description: "What runs in it keeps its memory and gets no CPU time. Timeouts of executions and the idle timeout stand still, the lifetime does not. " +
			"Files can be read and written meanwhile; to execute, resume it first.",
	}, a.pauseSession)
	register(a, huma.Operation{
		OperationID: "resume-session", Method: http.MethodPost, Path: "/sessions/{id}/resume",
		Summary: "Resume a paused session", Tags: []string{tagSessions},
	}, a.resumeSession)
	register(a, huma.Operation{
		OperationID: "set-session-timeout", Method: http.MethodPost, Path: "/sessions/{id}/timeout",
		Summary: "Change the limits of a session's life", Tags: []string{tagSessions},
	}, a.setTimeout)
	a.documentBody(a.registered(http.MethodPost, "/sessions/{id}/timeout"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[timeoutBody](a, "Timeout")},
	})
}

func (a *API) pauseSession(ctx context.Context, in *SessionParams) (*sessionOutput, error) {
	session, err := a.ctl.PauseSession(ctx, in.ID)
	return &sessionOutput{Body: session}, err
}

func (a *API) resumeSession(ctx context.Context, in *SessionParams) (*sessionOutput, error) {
	session, err := a.ctl.ResumeSession(ctx, in.ID)
	return &sessionOutput{Body: session}, err
}

func (a *API) setTimeout(ctx context.Context, in *timeoutInput) (*sessionOutput, error) {
	toDuration := func(d durationParam) yurt.Duration { return yurt.Duration(d) }
	session, err := a.ctl.SetTimeouts(ctx, in.ID, pointer(in.value.Timeout, toDuration), pointer(in.value.IdleTimeout, toDuration))
	return &sessionOutput{Body: session}, err
}
