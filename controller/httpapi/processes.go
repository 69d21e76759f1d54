package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

type (
	// ProcessParams names a process; exported as [SessionParams] is.
	ProcessParams struct {
		SessionParams
		PID int `path:"pid" doc:"Number of the process inside the sandbox."`
	}
	signalProcessInput struct {
		ProcessParams
		jsonBody[signalBody]
	}
	listProcessesInput struct {
		SessionParams
		paging.WholeParams
		ExecutionID string `query:"execution_id" maxLength:"68" doc:"Only processes that this execution started."`
	}
	processesOutput struct{ Body processList }
	statsOutput     struct{ Body yurt.SandboxStats }
	processList     struct {
		Processes  []yurt.Process `json:"processes" doc:"Sorted by number, including processes that have outlived their execution."`
		NextCursor string         `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

const processPath = "/sessions/{id}/processes/{pid}"

func (a *API) registerProcesses() {
	register(a, huma.Operation{
		OperationID: "list-processes", Method: http.MethodGet, Path: "/sessions/{id}/processes",
		Summary: "List the processes of a session", Tags: []string{tagSessions},
	}, a.listProcesses)
	register(a, huma.Operation{
		OperationID: "signal-process", Method: http.MethodPost, Path: processPath + "/signal", DefaultStatus: http.StatusNoContent,
		Summary: "Send a signal to a process", Tags: []string{tagSessions},
	}, a.signalProcess)
	a.documentBody(a.registered(http.MethodPost, processPath+"/signal"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[signalBody](a, "Signal")},
	})
	register(a, huma.Operation{
		OperationID: "kill-process", Method: http.MethodDelete, Path: processPath, DefaultStatus: http.StatusNoContent,
		Summary: "Kill a process", Tags: []string{tagSessions},
	}, a.killProcess)
	register(a, huma.Operation{
		OperationID: "get-session-metrics", Method: http.MethodGet, Path: "/sessions/{id}/metrics",
		Summary: "Show the resource usage of a session", Tags: []string{tagSessions},
	}, a.getStats)
}

func (a *API) listProcesses(ctx context.Context, in *listProcessesInput) (*processesOutput, error) {
	list, err := a.ctl.Processes(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	drop := func(p yurt.Process) bool { return in.ExecutionID != "" && p.ExecutionID != in.ExecutionID }
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(p yurt.Process) contract.Position { return paging.Numbered(p.PID) })
	return &processesOutput{Body: processList{page, next}}, err
}

func (a *API) signalProcess(ctx context.Context, in *signalProcessInput) (*struct{}, error) {
	return nil, a.ctl.SignalProcess(ctx, in.ID, in.PID, yurt.Signal(in.value.Signal))
}

func (a *API) killProcess(ctx context.Context, in *ProcessParams) (*struct{}, error) {
	return nil, a.ctl.SignalProcess(ctx, in.ID, in.PID, yurt.SignalKill)
}

func (a *API) getStats(ctx context.Context, in *SessionParams) (*statsOutput, error) {
	stats, err := a.ctl.SessionStats(ctx, in.ID)
	return &statsOutput{Body: stats}, err
}
