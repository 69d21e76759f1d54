package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

// stdinBody is the body of POST …/executions/{execution_id}/stdin.
type stdinBody struct {
	Data       string `json:"data,omitempty" doc:"Text for the standard input."`
	DataBase64 []byte `json:"data_base64,omitempty" doc:"Replaces data if the input is not text."`
	EOF        bool   `json:"eof,omitempty" doc:"End of the input; on a terminal, like Ctrl-D."`
}

// signalBody is the body of POST …/signal.
type signalBody struct {
	Signal param.Signal `json:"signal"`
}

// terminalBody is the size of a terminal in a request.
type terminalBody struct {
	Rows uint16 `json:"rows,omitempty" maximum:"4096" doc:"1 to 4096. Default: 24." example:"24"`
	Cols uint16 `json:"cols,omitempty" maximum:"4096" doc:"1 to 4096. Default: 80." example:"80"`
}

type (
	stdinInput struct {
		ExecutionParams
		jsonBody[stdinBody]
	}
	signalInput struct {
		ExecutionParams
		jsonBody[signalBody]
	}
	resizeInput struct {
		ExecutionParams
		jsonBody[terminalBody]
	}
)

const executionPath = "/sessions/{id}/executions/{execution_id}"

func (a *API) registerControl() {
	register(a, huma.Operation{
		OperationID: "write-stdin", Method: http.MethodPost, Path: executionPath + "/stdin", DefaultStatus: http.StatusNoContent,
		Summary: "Write to the stdin of an execution", Tags: []string{TagExecutions},
		Description: "For an execution that was started with `stdin_open` or `tty`. Responds when the execution, or the pipe's buffer, has taken the data; at most 16Mi at once.",
	}, a.writeStdin)
	a.documentBody(a.registered(http.MethodPost, executionPath+"/stdin"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[stdinBody](a, "Stdin")},
	})
	register(a, huma.Operation{
		OperationID: "signal-execution", Method: http.MethodPost, Path: executionPath + "/signal", DefaultStatus: http.StatusNoContent,
		Summary: "Send a signal to an execution", Tags: []string{TagExecutions},
		Description: "Sends the signal to the execution's first process and its process group, like Ctrl-C at a terminal; `SIGKILL` ends all processes of the execution. " +
			"To signal a single process, use `POST /sessions/{id}/processes/{pid}/signal`.",
	}, a.signalExecution)
	a.documentBody(a.registered(http.MethodPost, executionPath+"/signal"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[signalBody](a, "Signal")},
	})
	register(a, huma.Operation{
		OperationID: "cancel-execution", Method: http.MethodDelete, Path: executionPath,
		Summary: "Cancel an execution", Tags: []string{TagExecutions},
		Description: "Interrupts the execution (`SIGINT`), and kills all its processes if it has not ended after 5 seconds. An execution that still waits for a context or for packages ends at once. " +
			"The interrupt keeps the variables of a context, the kill loses them. Responds with the record and its result after the end; the output until then is kept. " +
			"Cancelling again during the end is not an error. If the execution had ended before, the error is `execution_ended`.",
		Responses: answersWith[executionBody](a, "ExecutionRecord"),
	}, a.cancelExecution)
	register(a, huma.Operation{
		OperationID: "resize-execution", Method: http.MethodPost, Path: executionPath + "/resize", DefaultStatus: http.StatusNoContent,
		Summary: "Resize the terminal of an execution", Tags: []string{TagExecutions},
	}, a.resizeExecution)
	a.documentBody(a.registered(http.MethodPost, executionPath+"/resize"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[terminalBody](a, "TerminalSize")},
	})
}

func (a *API) writeStdin(ctx context.Context, in *stdinInput) (*struct{}, error) {
	data := in.value.DataBase64
	if in.value.Data != "" {
		if data != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "data_base64", "give either data or data_base64, not both")
		}
		data = []byte(in.value.Data)
	}
	ctx, cancel := a.untilDrain(ctx)
	defer cancel()
	return nil, a.ctl.WriteStdin(ctx, in.ID, in.ExecutionID, data, in.value.EOF)
}

func (a *API) signalExecution(ctx context.Context, in *signalInput) (*struct{}, error) {
	return nil, a.ctl.SignalExecution(ctx, in.ID, in.ExecutionID, yurt.Signal(in.value.Signal))
}

func (a *API) cancelExecution(ctx context.Context, in *ExecutionParams) (*huma.StreamResponse, error) {
	e, err := a.ctl.CancelExecution(ctx, in.ID, in.ExecutionID)
	return respondExecution(a.log, e), err
}

func (a *API) resizeExecution(ctx context.Context, in *resizeInput) (*struct{}, error) {
	size := yurt.TerminalSize(in.value).Or(yurt.TerminalSize{Rows: yurt.DefaultTerminalRows, Cols: yurt.DefaultTerminalCols})
	return nil, a.ctl.ResizeExecution(ctx, in.ID, in.ExecutionID, size)
}
