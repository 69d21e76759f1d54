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
		Language string `query:"language" doc:"Of the context. Default each that has one of the name."`
	}
	listContextsInput struct {
		httpapi.SessionParams
		paging.WholeParams
		Language string `query:"language" maxLength:"64" doc:"Only contexts of this language." example:"python"`
	}
	listContextsOutput struct{ Body contextList }
	contextList        struct {
		Contexts   []yurt.Context `json:"contexts" doc:"By name; at most 16."`
		NextCursor string         `json:"next_cursor" doc:"Asks for the next page; empty on the last."`
	}
)

func (o operations) register(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "list-contexts", Method: http.MethodGet, Path: "/sessions/{id}/contexts",
		Summary: "List the contexts of a session", Tags: []string{httpapi.TagExecutions},
		Description: "A context is an interpreter whose variables, imports and working directory last from one execution of code to the next. The first execution that names one makes it.",
	}, o.listContexts)
	httpapi.Register(api, huma.Operation{
		OperationID: "delete-context", Method: http.MethodDelete, Path: "/sessions/{id}/contexts/{name}", DefaultStatus: http.StatusNoContent,
		Summary: "Remove a context", Tags: []string{httpapi.TagExecutions},
		Description: "What runs or waits in it ends.",
	}, o.deleteContext)
	httpapi.Register(api, huma.Operation{
		OperationID: "restart-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/restart", DefaultStatus: http.StatusNoContent,
		Summary: "Restart a context", Tags: []string{httpapi.TagExecutions},
		Description: "What runs in it ends, and its variables are lost; what waits goes on in a fresh interpreter.",
	}, o.restartContext)
	o.registerQuestions(api)
}

// questionBody is the body of a question to a context.
type questionBody struct {
	Code     string          `json:"code" doc:"The code so far. None of it is run."`
	Cursor   *int            `json:"cursor,omitempty" minimum:"0" maximum:"1048576" doc:"The place in the code, in Unicode code points. Default its end."`
	Language string          `json:"language,omitempty" doc:"Of the context. With it the context is made where there is none of the name, as before the first execution."`
	Timeout  *param.Duration `json:"timeout,omitempty" doc:"How long to wait until what runs in the context has ended, and then for the answer: 100ms to 10s, default 3s."`
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
	Code     string          `json:"code" doc:"The code so far. None of it is run."`
	Cursor   *int            `json:"cursor,omitempty" minimum:"0" maximum:"1048576" doc:"The place in the code, in Unicode code points. Default its end."`
	Language string          `json:"language,omitempty" doc:"Of the context. With it the context is made where there is none of the name, as before the first execution."`
	Timeout  *param.Duration `json:"timeout,omitempty" doc:"How long to wait until what runs in the context has ended, and then for the answer: 100ms to 10s, default 3s."`
	Detail   int             `json:"detail,omitempty" minimum:"0" maximum:"1" doc:"0, or 1 for the source code too."`
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

const askedErrors = "Questions take their turn among the executions of the context and are none themselves: they are neither recorded nor counted. " +
	"A context that stays busy for the timeout is the error `context_busy`; one that is not there, without a `language`, `context_not_found`; " +
	"a language whose interpreter answers no questions, which is one without the ability `completion`, `not_supported`. " +
	"An interpreter that does not answer within the timeout is interrupted, its variables are kept, and the error is `deadline_exceeded`."

func (o operations) registerQuestions(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "complete-in-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/complete",
		Summary: "Say how code in a context may go on", Tags: []string{httpapi.TagExecutions},
		Description: "Names, attributes, modules, keys and files that fit at the cursor, at most 1000. " + askedErrors,
	}, o.complete)
	httpapi.DocumentBody[questionBody](api, http.MethodPost, "/sessions/{id}/contexts/{name}/complete", "Question", "A module in an import", map[string]any{"code": "import ma", "language": "python"})
	httpapi.Narrow[questionBody](api, "Question", questionBounds())
	httpapi.Register(api, huma.Operation{
		OperationID: "inspect-in-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/inspect",
		Summary: "Say what a name in a context stands for", Tags: []string{httpapi.TagExecutions},
		Description: "The signature, type and documentation of the name at the cursor, or of the function in whose arguments the cursor is. " + askedErrors,
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
