// Package contexts has the operations of the REST API on contexts: interpreters that keep their state from one execution to
// the next, and answer questions about code.
package contexts

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

// Controller keeps the contexts of sessions.
type Controller interface {
	Contexts(ctx context.Context, sessionID string) ([]yurt.Context, error)
	RemoveContext(ctx context.Context, sessionID, name, language string) error
	RestartContext(ctx context.Context, sessionID, name, language string) error
	AskContext(ctx context.Context, sessionID, name string, question yurt.Question) (yurt.Answer, error)
}

// operations are the handlers.
type operations struct{ controller Controller }

// Operations returns the operations of a controller.
func Operations(controller Controller) httpapi.Extension {
	return operations{controller}.register
}

type (
	contextInput struct {
		httpapi.SessionParams
		Name     string `path:"name" minLength:"1" maxLength:"64" pattern:"^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores, not dots alone" example:"default"`
		Language string `query:"language" doc:"Language of the context. Default: all languages with a context of the name."`
	}
	listContextsInput struct {
		httpapi.SessionParams
		paging.WholeParams
		Language string `query:"language" maxLength:"64" doc:"Only contexts of this language." example:"python"`
	}
	listContextsOutput struct{ Body contextList }
	contextList        struct {
		Contexts   []yurt.Context `json:"contexts" doc:"Sorted by name; at most 16."`
		NextCursor string         `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

func (o operations) register(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "list-contexts", Method: http.MethodGet, Path: "/sessions/{id}/contexts",
		Summary: "List the contexts of a session", Tags: []string{httpapi.TagExecutions},
		Description: "A context is an interpreter that keeps variables, imports and the working directory from one execution to the next. The first execution that names a context creates it.",
	}, o.listContexts)
	httpapi.Register(api, huma.Operation{
		OperationID: "delete-context", Method: http.MethodDelete, Path: "/sessions/{id}/contexts/{name}", DefaultStatus: http.StatusNoContent,
		Summary: "Remove a context", Tags: []string{httpapi.TagExecutions},
		Description: "Running and waiting executions of the context end.",
	}, o.deleteContext)
	httpapi.Register(api, huma.Operation{
		OperationID: "restart-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/restart", DefaultStatus: http.StatusNoContent,
		Summary: "Restart a context", Tags: []string{httpapi.TagExecutions},
		Description: "The running execution ends, and the variables are lost. Waiting executions continue in a fresh interpreter.",
	}, o.restartContext)
	o.registerQuestions(api)
}

// questionBody is the body of a question to a context.
type questionBody struct {
	Code     string          `json:"code" doc:"The code, which is not run."`
	Cursor   *int            `json:"cursor,omitempty" minimum:"0" maximum:"1048576" doc:"Position of the cursor in Unicode code points. Default: the end of the code."`
	Language string          `json:"language,omitempty" doc:"Language of the context. If given, a missing context is created, as before a first execution."`
	Timeout  *param.Duration `json:"timeout,omitempty" doc:"Longest wait for the context to become free, and then for the answer: 100ms to 10s. Default: 3s."`
}

func (b questionBody) question(kind yurt.QuestionKind) yurt.Question {
	q := yurt.Question{Kind: kind, Code: b.Code, Cursor: b.Cursor, Language: b.Language}
	if b.Timeout != nil {
		q.Timeout = yurt.Duration(*b.Timeout)
	}
	return q
}

// inspectBody is the body of an inspection.
type inspectBody struct {
	Code     string          `json:"code" doc:"The code, which is not run."`
	Cursor   *int            `json:"cursor,omitempty" minimum:"0" maximum:"1048576" doc:"Position of the cursor in Unicode code points. Default: the end of the code."`
	Language string          `json:"language,omitempty" doc:"Language of the context. If given, a missing context is created, as before a first execution."`
	Timeout  *param.Duration `json:"timeout,omitempty" doc:"Longest wait for the context to become free, and then for the answer: 100ms to 10s. Default: 3s."`
	Detail   int             `json:"detail,omitempty" minimum:"0" maximum:"1" doc:"0; 1 adds the source code."`
}

type (
	completeInput struct {
		httpapi.SessionParams
		Name string `path:"name" minLength:"1" maxLength:"64" pattern:"^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores, not dots alone" example:"default"`
		httpapi.JSONBody[questionBody]
	}
	inspectInput struct {
		httpapi.SessionParams
		Name string `path:"name" minLength:"1" maxLength:"64" pattern:"^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores, not dots alone" example:"default"`
		httpapi.JSONBody[inspectBody]
	}
	completeOutput struct{ Body yurt.Completion }
	inspectOutput  struct{ Body yurt.Inspection }
)

const askedErrors = "A question waits for the executions of the context before it. It is not an execution: it is neither recorded nor counted. " +
	"The error is `context_busy` if the context stays busy for the timeout, `context_not_found` if the context does not exist and the request has no `language`, " +
	"and `not_supported` for a language without the ability `completion`. " +
	"If the interpreter does not answer within the timeout, it is interrupted and keeps its variables, and the error is `deadline_exceeded`."

func (o operations) registerQuestions(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "complete-in-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/complete",
		Summary: "Complete code in a context", Tags: []string{httpapi.TagExecutions},
		Description: "Returns the names, attributes, modules, keys and files that fit at the cursor, at most 1000. " + askedErrors,
	}, o.complete)
	httpapi.DocumentBody[questionBody](api, http.MethodPost, "/sessions/{id}/contexts/{name}/complete", "Question", "A module in an import", map[string]any{"code": "import ma", "language": "python"})
	httpapi.Narrow[questionBody](api, "Question", questionBounds())
	httpapi.Register(api, huma.Operation{
		OperationID: "inspect-in-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/inspect",
		Summary: "Describe a name in a context", Tags: []string{httpapi.TagExecutions},
		Description: "Returns the signature, type and documentation of the name at the cursor, or of the function whose arguments surround the cursor. " + askedErrors,
	}, o.inspect)
	httpapi.DocumentBody[inspectBody](api, http.MethodPost, "/sessions/{id}/contexts/{name}/inspect", "InspectQuestion", "A function", map[string]any{"code": "print", "language": "python"})
	httpapi.Narrow[inspectBody](api, "InspectQuestion", questionBounds())
}

func (o operations) complete(ctx context.Context, in *completeInput) (*completeOutput, error) {
	answer, err := o.controller.AskContext(ctx, in.ID, in.Name, in.Value().question(yurt.QuestionComplete))
	if err != nil {
		return nil, err
	}
	return &completeOutput{Body: *answer.Completion}, nil
}

func (o operations) inspect(ctx context.Context, in *inspectInput) (*inspectOutput, error) {
	body := in.Value()
	question := questionBody{body.Code, body.Cursor, body.Language, body.Timeout}.question(yurt.QuestionInspect)
	question.Detail = body.Detail
	answer, err := o.controller.AskContext(ctx, in.ID, in.Name, question)
	if err != nil {
		return nil, err
	}
	return &inspectOutput{Body: *answer.Inspection}, nil
}

func (o operations) listContexts(ctx context.Context, in *listContextsInput) (*listContextsOutput, error) {
	list, err := o.controller.Contexts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	drop := func(c yurt.Context) bool { return in.Language != "" && c.Language != in.Language }
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(c yurt.Context) contract.Position { return paging.Named(c.Name + "\x00" + c.Language) })
	return &listContextsOutput{Body: contextList{page, next}}, err
}

func (o operations) deleteContext(ctx context.Context, in *contextInput) (*struct{}, error) {
	return nil, o.controller.RemoveContext(ctx, in.ID, in.Name, in.Language)
}

func (o operations) restartContext(ctx context.Context, in *contextInput) (*struct{}, error) {
	return nil, o.controller.RestartContext(ctx, in.ID, in.Name, in.Language)
}

// questionBounds are those of a question.
func questionBounds() map[string]bounds.Bound {
	return map[string]bounds.Bound{
		"code": bounds.Text(0, yurt.MaxQuestionBytes, ""), "language": bounds.Text(0, yurt.MaxNameBytes, bounds.Printable),
		"timeout": questionTimeout(),
	}
}

// questionTimeout has examples of its own, as those of other durations are beyond it.
func questionTimeout() bounds.Bound {
	return func(s *huma.Schema) {
		bounds.Number(yurt.MinQuestionTimeout.Seconds(), yurt.MaxQuestionTimeout.Seconds())(s)
		s.Examples = []any{yurt.QuestionTimeout.Seconds(), "3s"}
	}
}
