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
	Data       string `json:"data,omitempty" doc:"Text to read."`
	DataBase64 []byte `json:"data_base64,omitempty" doc:"In place of data, for what is not text."`
	EOF        bool   `json:"eof,omitempty" doc:"Nothing comes after it; on a terminal, what Ctrl-D does."`
}

// signalBody is the body of POST …/signal.
type signalBody struct {
	Signal param.Signal `json:"signal"`
}

// terminalBody is the size of a terminal in a request.
type terminalBody struct {
	Rows uint16 `json:"rows,omitempty" maximum:"4096" doc:"1 to 4096. Default 24." example:"24"`
	Cols uint16 `json:"cols,omitempty" maximum:"4096" doc:"1 to 4096. Default 80." example:"80"`
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
		Description: "Of one that was started with `stdin_open` or `tty`. Answers once the execution, or a pipe's buffer, has taken the data; at most 16Mi at once.",
	}, a.writeStdin)
	a.documentBody(a.registered(http.MethodPost, executionPath+"/stdin"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[stdinBody](a, "Stdin")},
	})
	register(a, huma.Operation{
		OperationID: "signal-execution", Method: http.MethodPost, Path: executionPath + "/signal", DefaultStatus: http.StatusNoContent,
		Summary: "Send a signal to an execution", Tags: []string{TagExecutions},
		Description: "To its first process and that one's process group, as Ctrl-C at a terminal; `SIGKILL` ends every process of the execution. " +
			"To signal one process alone, use `POST /sessions/{id}/processes/{pid}/signal`.",
	}, a.signalExecution)
	a.documentBody(a.registered(http.MethodPost, executionPath+"/signal"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[signalBody](a, "Signal")},
	})
	register(a, huma.Operation{
		OperationID: "cancel-execution", Method: http.MethodDelete, Path: executionPath,
		Summary: "Cancel an execution", Tags: []string{TagExecutions},
		Description: "Interrupts it (`SIGINT`), and kills all of its processes if it has not ended 5 seconds later. One that waits, for its turn in a context or for packages, ends at once. " +
			"In a context the interrupt keeps the variables, the kill does not. Answers with the record and its result once it has ended; what was printed until then is kept. " +
			"To cancel an execution again while it ends is no error. One that has ended before is the error `execution_ended`.",
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
