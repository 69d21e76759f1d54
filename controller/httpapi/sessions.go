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
	TemplateID  string            `json:"template_id,omitempty" doc:"Name of the template. Default: the template default, which has all languages of the host." example:"default"`
	Mode        yurt.Mode         `json:"mode,omitempty" enum:"ephemeral,persistent" doc:"ephemeral: for one execution; persistent: for many, until the session ends. Default: persistent."`
	AgentID     string            `json:"agent_id,omitempty" doc:"Id of the agent that uses the session. Sessions of the same agent are placed on the same node if possible."`
	Reuse       bool              `json:"reuse,omitempty" doc:"Return the agent's live persistent session if it has the same template, resources and environment; a paused session is resumed. Requires agent_id; not allowed with mode ephemeral."`
	Timeout     *param.Duration   `json:"timeout,omitempty" doc:"Lifetime, 1s to 168h. Default: the template's."`
	IdleTimeout *param.Duration   `json:"idle_timeout,omitempty" doc:"Time without use after which the session ends, 1s to 168h. Default: the template's."`
	Env         map[string]string `json:"env,omitempty" doc:"Environment variables of all executions in the session. The API never returns them."`
	Resources   resourcesBody     `json:"resources,omitempty"`
	Network     *networkBody      `json:"network,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"Labels for finding the session, at most 64."`
	Files       param.Files       `json:"files,omitempty" doc:"Files by path relative to /workspace, written before the session is ready, owned by its user, with mode 0644. At most 256 files, together 16Mi. Not allowed with reuse."`
	SnapshotID  string            `json:"snapshot_id,omitempty" doc:"Not supported yet."`
}

type resourcesBody struct {
	CPU    *param.CPU   `json:"cpu,omitempty"`
	Memory *param.Size  `json:"memory,omitempty"`
	Disk   *param.Size  `json:"disk,omitempty" doc:"Size of /workspace."`
	PIDs   *param.Count `json:"pids,omitempty" doc:"Number of processes and threads."`

	DiskKind *yurt.DiskKind `json:"disk_kind,omitempty" enum:"memory,image,quota" doc:"Storage of /workspace: memory, an image on the node's disk, or a directory on that disk with a project quota."`
	IOWeight *param.Count   `json:"io_weight,omitempty" doc:"Share of the disk's time relative to other sandboxes, 1 to 1000; 100 is normal. An error on a node without I/O weights."`
	Ulimits  ulimitsBody    `json:"ulimits,omitempty" doc:"Limits of each process."`
}

type ulimitsBody struct {
	NoFile *param.Count `json:"nofile,omitempty" doc:"Number of open files of a process."`
	FSize  *param.Size  `json:"fsize,omitempty" doc:"Largest size of a file that a process writes."`
	Stack  *param.Size  `json:"stack,omitempty" doc:"Stack size of a process's main thread."`
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
	Mode yurt.NetworkMode `json:"mode" enum:"none" doc:"Networks that the sandbox can reach."`
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
		IdempotencyKey string `header:"Idempotency-Key" maxLength:"256" doc:"A repeated request with the same key returns the session of the first one. A failed request frees its key."`
	}
	createSessionOutput struct {
		Status   int
		Location string `header:"Location"`
		Body     yurt.Session
	}
	// SessionParams names a session. It is exported only since huma sets no fields of
	// embedded types that are not.
	SessionParams struct {
		ID string `path:"id" doc:"Id of the session." example:"ses_4tqzplnr3mzsyzsylstojxrtb4"`
	}
	endSessionInput struct {
		SessionParams
		Results string `query:"results" enum:"keep,delete" default:"keep" doc:"delete removes the session's executions and results; keep leaves them for the time that the operator has set."`
	}
	sessionOutput     struct{ Body yurt.Session }
	listSessionsInput struct {
		paging.Params
		IDPrefix   string            `query:"id_prefix" maxLength:"68" pattern:"^(ses_[a-z0-9]*)?$" doc:"Only sessions whose id begins with this text, such as ses_4q7k." example:"ses_4q7k"`
		TemplateID string            `query:"template_id" doc:"Only sessions of this template."`
		State      yurt.SessionState `query:"state" enum:"creating,ready,running,paused,terminated,failed" doc:"Only sessions in this state."`
		Live       bool              `query:"live" doc:"Only sessions that have not ended."`
		AgentID    string            `query:"agent_id" doc:"Only sessions of this agent."`
		Metadata   map[string]string `query:"metadata,deepObject" doc:"Only sessions with all of these labels: metadata[key]=value."`

		CreatedAfter  time.Time `query:"created_after" doc:"Only sessions that were created at this time or later."`
		CreatedBefore time.Time `query:"created_before" doc:"Only sessions that were created before this time."`
	}
	listSessionsOutput struct{ Body sessionList }
	sessionList        struct {
		Sessions   []yurt.Session `json:"sessions" doc:"Newest first. Ended sessions are kept for a day, or for the time that the operator has set."`
		NextCursor string         `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

func (a *API) registerSessions() {
	register(a, huma.Operation{
		OperationID: document.OperationCreate, Method: http.MethodPost, Path: "/sessions", DefaultStatus: http.StatusCreated,
		Summary: "Create a session", Tags: []string{tagSessions},
		Description: "Responds when the sandbox is ready, with its node and the time of each phase of its creation. The status is 200 if a session was reused. " +
			"The `files` are in the workspace then; if they do not fit, the error is `workspace_full` and no session is created.",
		Responses: map[string]*huma.Response{
			"200": {Description: "An existing session of the agent.", Content: map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[yurt.Session](a, "Session")}}},
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
		Description: "Running executions end and keep their output so far. Results are kept for a day, or for the time that the operator has set. `results=delete` removes results and executions at once, also for a session that has ended before.",
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
	Timeout     *param.Duration `json:"timeout,omitempty" doc:"Lifetime, counted from the session's creation, 1s to 168h."`
	IdleTimeout *param.Duration `json:"idle_timeout,omitempty" doc:"Time without use after which the session ends, 1s to 168h."`
}

type timeoutInput struct {
	SessionParams
	jsonBody[timeoutBody]
}

func (a *API) registerPause() {
	register(a, huma.Operation{
		OperationID: "pause-session", Method: http.MethodPost, Path: "/sessions/{id}/pause",
		Summary: "Pause a session", Tags: []string{tagSessions},
		Description: "Processes keep their memory and get no CPU time. The timeouts of executions and the idle timeout stop, but not the session's lifetime. " +
			"Files can be read and written during the pause. To execute, resume the session first.",
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
