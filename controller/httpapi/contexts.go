package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

type (
	contextInput struct {
		SessionParams
		Name     string `path:"name" minLength:"1" maxLength:"64" pattern:"^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores, not dots alone" example:"default"`
		Language string `query:"language" doc:"Of the context. Default each that has one of the name."`
	}
	listContextsInput struct {
		SessionParams
		paging.WholeParams
		Language string `query:"language" maxLength:"64" doc:"Only contexts of this language." example:"python"`
	}
	listContextsOutput struct{ Body contextList }
	contextList        struct {
		Contexts   []yurt.Context `json:"contexts" doc:"By name; at most 16."`
		NextCursor string         `json:"next_cursor" doc:"Asks for the next page; empty on the last."`
	}
)

func (a *API) registerContexts() {
	register(a, huma.Operation{
		OperationID: "list-contexts", Method: http.MethodGet, Path: "/sessions/{id}/contexts",
		Summary: "List the contexts of a session", Tags: []string{tagExecutions},
		Description: "A context is an interpreter whose variables, imports and working directory last from one execution of code to the next. The first execution that names one makes it.",
	}, a.listContexts)
	register(a, huma.Operation{
		OperationID: "delete-context", Method: http.MethodDelete, Path: "/sessions/{id}/contexts/{name}", DefaultStatus: http.StatusNoContent,
		Summary: "Remove a context", Tags: []string{tagExecutions},
		Description: "What runs or waits in it ends.",
	}, a.deleteContext)
	register(a, huma.Operation{
		OperationID: "restart-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/restart", DefaultStatus: http.StatusNoContent,
		Summary: "Restart a context", Tags: []string{tagExecutions},
		Description: "What runs in it ends, and its variables are lost; what waits goes on in a fresh interpreter.",
	}, a.restartContext)
	a.registerQuestions()
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
		SessionParams
		Name string `path:"name" minLength:"1" maxLength:"64" pattern:"^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores, not dots alone" example:"default"`
		jsonBody[questionBody]
	}
	inspectInput struct {
		SessionParams
		Name string `path:"name" minLength:"1" maxLength:"64" pattern:"^[.]*[A-Za-z0-9_-][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores, not dots alone" example:"default"`
		jsonBody[inspectBody]
	}
	completeOutput struct{ Body yurt.Completion }
	inspectOutput  struct{ Body yurt.Inspection }
)

const askedErrors = "Questions take their turn among the executions of the context and are none themselves: they are neither recorded nor counted. " +
	"A context that stays busy for the timeout is the error `context_busy`; one that is not there, without a `language`, `context_not_found`; " +
	"a language whose interpreter answers no questions, which is one without the ability `completion`, `not_supported`. " +
	"An interpreter that does not answer within the timeout is interrupted, its variables are kept, and the error is `deadline_exceeded`."

func (a *API) registerQuestions() {
	register(a, huma.Operation{
		OperationID: "complete-in-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/complete",
		Summary: "Say how code in a context may go on", Tags: []string{tagExecutions},
		Description: "Names, attributes, modules, keys and files that fit at the cursor, at most 1000. " + askedErrors,
	}, a.complete)
	a.documentBody(a.registered(http.MethodPost, "/sessions/{id}/contexts/{name}/complete"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[questionBody](a, "Question")},
	})
	register(a, huma.Operation{
		OperationID: "inspect-in-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/inspect",
		Summary: "Say what a name in a context stands for", Tags: []string{tagExecutions},
		Description: "The signature, type and documentation of the name at the cursor, or of the function in whose arguments the cursor is. " + askedErrors,
	}, a.inspect)
	a.documentBody(a.registered(http.MethodPost, "/sessions/{id}/contexts/{name}/inspect"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[inspectBody](a, "InspectQuestion")},
	})
}

func (a *API) complete(ctx context.Context, in *completeInput) (*completeOutput, error) {
	answer, err := a.ctl.AskContext(ctx, in.ID, in.Name, in.value.question(yurt.QuestionComplete))
	if err != nil {
		return nil, err
	}
	return &completeOutput{Body: *answer.Completion}, nil
}

func (a *API) inspect(ctx context.Context, in *inspectInput) (*inspectOutput, error) {
	body := in.value
	question := questionBody{body.Code, body.Cursor, body.Language, body.Timeout}.question(yurt.QuestionInspect)
	question.Detail = body.Detail
	answer, err := a.ctl.AskContext(ctx, in.ID, in.Name, question)
	if err != nil {
		return nil, err
	}
	return &inspectOutput{Body: *answer.Inspection}, nil
}

func (a *API) listContexts(ctx context.Context, in *listContextsInput) (*listContextsOutput, error) {
	list, err := a.ctl.Contexts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	drop := func(c yurt.Context) bool { return in.Language != "" && c.Language != in.Language }
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(c yurt.Context) contract.Position { return paging.Named(c.Name + "\x00" + c.Language) })
	return &listContextsOutput{Body: contextList{page, next}}, err
}

func (a *API) deleteContext(ctx context.Context, in *contextInput) (*struct{}, error) {
	return nil, a.ctl.RemoveContext(ctx, in.ID, in.Name, in.Language)
}

func (a *API) restartContext(ctx context.Context, in *contextInput) (*struct{}, error) {
	return nil, a.ctl.RestartContext(ctx, in.ID, in.Name, in.Language)
}
