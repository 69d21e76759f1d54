package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi/internal/document"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

// createSessionBody is the body of POST /sessions.
type createSessionBody struct {
	TemplateID  string            `json:"template_id,omitempty" doc:"Name of the template. Default default, which has every language of the host." example:"default"`
	Mode        yurt.Mode         `json:"mode,omitempty" enum:"ephemeral,persistent" doc:"ephemeral: one execution; persistent: many, until it ends. Default persistent."`
	AgentID     string            `json:"agent_id,omitempty" doc:"Whose session it is. It is placed where sessions of the same agent were, if that can be."`
	Reuse       bool              `json:"reuse,omitempty" doc:"Answer with a live persistent session that the agent has, if it is of this template, with these resources and this environment; a paused one is resumed. Needs agent_id, and not mode ephemeral."`
	Timeout     *param.Duration   `json:"timeout,omitempty" doc:"Lifetime, 1s to 168h. Default the template's."`
	IdleTimeout *param.Duration   `json:"idle_timeout,omitempty" doc:"Since the last use, 1s to 168h. Default the template's."`
	Env         map[string]string `json:"env,omitempty" doc:"Environment of everything that runs in it. Never shown again."`
	Resources   resourcesBody     `json:"resources,omitempty"`
	Network     *networkBody      `json:"network,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"At most 64 entries to find it by."`
	Files       param.Files       `json:"files,omitempty" doc:"Files by path, relative to /workspace, where they are before the session is ready: owned by its user, with mode 0644. At most 256, 16Mi together. Not with reuse."`
	SnapshotID  string            `json:"snapshot_id,omitempty" doc:"Not supported yet."`
}

type resourcesBody struct {
	CPU    *param.CPU   `json:"cpu,omitempty"`
	Memory *param.Size  `json:"memory,omitempty"`
	Disk   *param.Size  `json:"disk,omitempty" doc:"Of /workspace."`
	PIDs   *param.Count `json:"pids,omitempty" doc:"Processes and threads."`

	DiskKind *yurt.DiskKind `json:"disk_kind,omitempty" enum:"memory,image,quota" doc:"What /workspace is held in: memory, an image on the node's disk, or a directory there that a project quota bounds."`
	IOWeight *param.Count   `json:"io_weight,omitempty" doc:"Share of the disks' time beside other sandboxes, 1 to 1000, of which 100 is usual. An error on a node that has no such shares."`
	Ulimits  ulimitsBody    `json:"ulimits,omitempty" doc:"Of each process."`
}

type ulimitsBody struct {
	NoFile *param.Count `json:"nofile,omitempty" doc:"Open files."`
	FSize  *param.Size  `json:"fsize,omitempty" doc:"A file that it writes."`
	Stack  *param.Size  `json:"stack,omitempty" doc:"Stack of its main thread."`
}

func (b resourcesBody) request() controller.ResourcesRequest {
	return controller.ResourcesRequest{
		CPU:    (*float64)(b.CPU),
		Memory: (*yurt.Size)(b.Memory), Disk: (*yurt.Size)(b.Disk), PIDs: (*int)(b.PIDs),
		DiskKind: b.DiskKind, IOWeight: (*int)(b.IOWeight),
		Ulimits: controller.UlimitsRequest{
			NoFile: (*int)(b.Ulimits.NoFile), FSize: (*yurt.Size)(b.Ulimits.FSize), Stack: (*yurt.Size)(b.Ulimits.Stack),
		},
	}
}

type networkBody struct {
	Mode yurt.NetworkMode `json:"mode" enum:"none" doc:"What the sandbox can reach."`
}

func (b *networkBody) request() *yurt.Network {
	if b == nil {
		return nil
	}
	return &yurt.Network{Mode: b.Mode}
}

func (b createSessionBody) request(idempotencyKey string) controller.CreateSessionRequest {
	return controller.CreateSessionRequest{
		TemplateID: b.TemplateID, Mode: b.Mode, AgentID: b.AgentID, Reuse: b.Reuse,
		Timeout: (*yurt.Duration)(b.Timeout), IdleTimeout: (*yurt.Duration)(b.IdleTimeout), Env: b.Env,
		Resources: b.Resources.request(),
		Network:   b.Network.request(),
		Metadata:  b.Metadata, Files: b.Files, SnapshotID: b.SnapshotID, IdempotencyKey: idempotencyKey,
	}
}

type (
	createSessionInput struct {
		jsonBody[createSessionBody]
		IdempotencyKey string `header:"Idempotency-Key" maxLength:"256" doc:"A repeated request with the same key answers with the first one's session. A create that fails frees its key."`
	}
	createSessionOutput struct {
		Status   int
		Location string `header:"Location"`
		Body     yurt.Session
	}
	// SessionParams names a session. It is exported only since huma sets no fields of
	// embedded types that are not.
	SessionParams struct {
		ID string `path:"id" doc:"Of the session." example:"ses_4tqzplnr3mzsyzsylstojxrtb4"`
	}
	endSessionInput struct {
		SessionParams
		Results string `query:"results" enum:"keep,delete" default:"keep" doc:"delete removes the session's executions and their results; keep leaves them for the time that the operator has set."`
	}
	sessionOutput     struct{ Body yurt.Session }
	listSessionsInput struct {
		paging.Params
		IDPrefix   string            `query:"id_prefix" maxLength:"68" pattern:"^(ses_[a-z0-9]*)?$" doc:"Only sessions whose id begins so, such as ses_4q7k." example:"ses_4q7k"`
		TemplateID string            `query:"template_id" doc:"Only sessions of this template."`
		State      yurt.SessionState `query:"state" enum:"creating,ready,running,paused,terminated,failed" doc:"Only sessions in this state."`
		Live       bool              `query:"live" doc:"Only sessions that have not ended."`
		AgentID    string            `query:"agent_id" doc:"Only sessions of this agent."`
		Metadata   map[string]string `query:"metadata,deepObject" doc:"Only sessions with all of these entries: metadata[key]=value."`

		CreatedAfter  time.Time `query:"created_after" doc:"Only sessions that were made then or later."`
		CreatedBefore time.Time `query:"created_before" doc:"Only sessions that were made before."`
	}
	listSessionsOutput struct{ Body sessionList }
	sessionList        struct {
		Sessions   []yurt.Session `json:"sessions" doc:"Newest first; ended ones are kept for a day, or as long as the operator has set."`
		NextCursor string         `json:"next_cursor" doc:"Asks for the next page; empty on the last."`
	}
)

func (a *API) registerSessions() {
	register(a, huma.Operation{
		OperationID: document.OperationCreate, Method: http.MethodPost, Path: "/sessions", DefaultStatus: http.StatusCreated,
		Summary: "Create a session", Tags: []string{tagSessions},
		Description: "Answers once the sandbox is ready, and says where it is and how long each phase of making it took. The status is 200 when a session was reused. " +
			"Its `files` are in the workspace then; when there is no room for them the answer is `workspace_full`, and there is no session.",
		Responses: map[string]*huma.Response{
			"200": {Description: "A session that the agent has already.", Content: map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[yurt.Session](a, "Session")}}},
		},
	}, a.createSession)
	a.documentBody(a.registered(http.MethodPost, "/sessions"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[createSessionBody](a, "CreateSession")},
	})
	register(a, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/sessions",
		Summary: "List sessions", Tags: []string{tagSessions},
	}, a.listSessions)
	register(a, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/sessions/{id}",
		Summary: "Show a session", Tags: []string{tagSessions},
	}, a.getSession)
	register(a, huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Path: "/sessions/{id}",
		Summary: "End a session", Tags: []string{tagSessions},
		Description: "What runs in it ends and keeps its output so far. Its results stay for a day, or as long as the operator has set; with `results=delete` they and its executions are removed at once, also those of a session that has ended before.",
	}, a.endSession)
}

func (a *API) createSession(ctx context.Context, in *createSessionInput) (*createSessionOutput, error) {
	session, err := a.ctl.CreateSession(ctx, in.value.request(in.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	status := http.StatusCreated
	if session.Placement.Kind == yurt.PlacementReused {
		status = http.StatusOK
	}
	return &createSessionOutput{Status: status, Location: prefix + "/sessions/" + session.ID, Body: session}, nil
}

// Resolve implements huma.Resolver.
func (in *listSessionsInput) Resolve(ctx huma.Context) []error {
	return paging.CheckTimes(ctx, "created_after", "created_before")
}

func (a *API) listSessions(ctx context.Context, in *listSessionsInput) (*listSessionsOutput, error) {
	list := func(before contract.Position, limit int) ([]yurt.Session, error) {
		return a.ctl.Sessions(ctx, contract.SessionQuery{
			IDPrefix: in.IDPrefix, TemplateID: in.TemplateID, State: in.State, Live: in.Live, AgentID: in.AgentID, Metadata: in.Metadata,
			Created: contract.Period{Since: in.CreatedAfter, Until: in.CreatedBefore}, Before: before, Limit: limit,
		})
	}
	page, next, err := paging.Page(in.Params, list, func(s yurt.Session) contract.Position {
		return contract.Position{CreatedAt: s.CreatedAt, ID: s.ID}
	})
	return &listSessionsOutput{Body: sessionList{Sessions: page, NextCursor: next}}, err
}

func (a *API) getSession(ctx context.Context, in *SessionParams) (*sessionOutput, error) {
	session, err := a.ctl.Session(ctx, in.ID)
	return &sessionOutput{Body: session}, err
}

func (a *API) endSession(ctx context.Context, in *endSessionInput) (*sessionOutput, error) {
	end := a.ctl.EndSession
	if in.Results == "delete" {
		end = a.ctl.DeleteResults
	}
	session, err := end(ctx, in.ID)
	return &sessionOutput{Body: session}, err
}

// timeoutBody is the body of POST /sessions/{id}/timeout.
type timeoutBody struct {
	Timeout     *param.Duration `json:"timeout,omitempty" doc:"Lifetime since its creation, 1s to 168h."`
	IdleTimeout *param.Duration `json:"idle_timeout,omitempty" doc:"Since the last use, 1s to 168h."`
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
	session, err := a.ctl.SetTimeouts(ctx, in.ID, (*yurt.Duration)(in.value.Timeout), (*yurt.Duration)(in.value.IdleTimeout))
	return &sessionOutput{Body: session}, err
}
