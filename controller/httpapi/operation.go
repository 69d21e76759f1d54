package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt/controller/httpapi/internal/document"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

const (
	typeJSON        = "application/json"
	typeProblem     = "application/problem+json"
	typeOctetStream = "application/octet-stream"
	typeEventStream = "text/event-stream"
	typeDocument    = "application/openapi+json"
)

// humaConfig describes the API. It disables huma's defaults that reach out to other hosts or add fields to answers.
func (a *API) humaConfig() huma.Config {
	registry := huma.NewMapRegistry(document.SchemaPrefix, huma.DefaultSchemaNamer)
	param.AliasDomainTypes(registry)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Yurt",
				Version:     a.config.Version,
				Description: "Sandboxes for untrusted code. Errors are application/problem+json with a stable `code`. A size is a number of bytes or text such as `\"512Mi\"`; a duration is a number of seconds or text such as `\"30s\"`. Unknown fields are refused.",
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Tags: []*huma.Tag{
				{Name: tagSessions, Description: "A session is the use of a sandbox, for one execution (`ephemeral`) or for many (`persistent`)."},
				{Name: TagExecutions, Description: "An execution runs code, a command or a handler in a session. It continues if its client disconnects. Its result is kept for a day after the session's end, or for the time that the operator has set."},
				{Name: tagFiles, Description: "Files in the session's /workspace. Contents are streamed unchanged."},
				{Name: TagTemplates, Description: "A template describes sandboxes: languages, packages, resources, files and environment."},
				{Name: TagContainers, Description: "The sandboxes themselves, with and without a session."},
				{Name: TagNodes, Description: "The machines of the sandboxes."},
				{Name: TagKeys, Description: "API keys, tenants and the audit log."},
				{Name: tagServer, Description: "State and version of the server."},
			},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
				securityScheme: {Type: "http", Scheme: "bearer", Description: "An API key, which `yurt key create` makes. Each operation lists scopes; the key needs one of them."},
			}},
		},
		Formats: map[string]huma.Format{
			typeJSON: {Marshal: writeJSON, Unmarshal: json.Unmarshal},
			"json":   {Marshal: writeJSON, Unmarshal: json.Unmarshal},
		},
		DefaultFormat:                typeJSON,
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{transformError},
	}
}

// writeJSON writes v. It replaces bytes that are not UTF-8 by U+FFFD.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// register adds an operation whose errors become problems. Its body, if it has one,
// is documented as the schema of body's type.
func register[I, O any](a *API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	schemas := a.huma.OpenAPI().Components.Schemas
	op.Path = joinPath(op)
	op.Security = security(a.policy, op.OperationID, a.config.Keys != nil)
	op.SkipValidateBody = true // bodies are decoded here, strictly and without echo
	document.AddKey(&op)
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{
		Description: "The error.",
		Content:     map[string]*huma.MediaType{typeProblem: {Schema: schemas.Schema(reflect.TypeFor[problem](), true, "Problem")}},
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, a.problemOf(ctx, err)
		}
		return out, nil
	})
}

// joinPath puts operations with a tag below the API's prefix; the others are about
// the server itself.
func joinPath(op huma.Operation) string {
	if len(op.Tags) > 0 && op.Tags[0] == tagServer {
		return op.Path
	}
	return prefix + op.Path
}

// The tags group the operations on the page of the documentation.
const (
	tagSessions = "sessions"
	tagFiles    = "files"
	tagServer   = "server"

	// Those that other packages have operations of.
	TagExecutions = "executions"
	TagTemplates  = "templates"
	TagContainers = "containers"
	TagNodes      = "nodes"
	TagKeys       = "keys"
)

// documentBody describes the body of an operation that was registered. Huma learns of the body only afterwards, or it
// would read the body itself.
func (a *API) documentBody(op *huma.Operation, content map[string]*huma.MediaType) {
	op.RequestBody = &huma.RequestBody{Required: true, Content: content}
	if media := content[typeJSON]; media != nil {
		a.bodySchemas = append(a.bodySchemas, media.Schema)
	}
}

// registered returns the documented operation.
func (a *API) registered(method, path string) *huma.Operation {
	item := a.huma.OpenAPI().Paths[prefix+path]
	switch method {
	case http.MethodPut:
		return item.Put
	case http.MethodPatch:
		return item.Patch
	default:
		return item.Post
	}
}

// schemaOf returns a reference to the schema of a type.
func schemaOf[T any](a *API, name string) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, name)
}

// eventSchema describes one of the server-sent events of a stream, whose data is JSON. It has the form that later
// versions of OpenAPI give events; 3.1 has no form of its own, and readers accept this one.
func eventSchema(data *huma.Schema) *huma.Schema {
	return &huma.Schema{
		Type:        huma.TypeObject,
		Description: "A server-sent event.",
		Properties: map[string]*huma.Schema{
			"id":    {Type: huma.TypeString, Description: "Number of the event, from 1."},
			"event": {Type: huma.TypeString, Description: "The type of the event."},
			"data": {Type: huma.TypeString, Description: "An object, as JSON.", Extensions: map[string]any{
				"contentMediaType": typeJSON, "contentSchema": data,
			}},
		},
		Required: []string{"id", "event", "data"},
	}
}

// jsonBody is the strictly decoded body of a request. It is part of an operation's
// input; huma calls Resolve.
type jsonBody[T any] struct{ value T }

// Resolve implements huma.Resolver.
func (b *jsonBody[T]) Resolve(ctx huma.Context) []error {
	data, err := readBody(ctx, typeJSON)
	if err == nil {
		err = decodeStrict(data, &b.value)
	}
	return asDetails(err)
}

// asDetails hands an error over to transformError through huma.
func asDetails(err error) []error {
	if err == nil {
		return nil
	}
	return []error{&codedDetail{err}}
}

// codedDetail carries one of our errors through huma's own.
type codedDetail struct{ error }

// ErrorDetail implements huma.ErrorDetailer.
func (d *codedDetail) ErrorDetail() *huma.ErrorDetail {
	return &huma.ErrorDetail{Message: d.Error(), Value: d.error}
}

// respond returns an output that writes v with a status.
func respond(status int, v any, headers ...string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		for i := 0; i+1 < len(headers); i += 2 {
			ctx.SetHeader(headers[i], headers[i+1])
		}
		ctx.SetHeader("Content-Type", typeJSON)
		_ = writeJSON(&wholeAnswer{ctx, status}, v) // a client that left needs no error
	}}
}

// wholeAnswer writes the body of an answer that comes in one piece, as an encoder of JSON gives it. It is sent at
// once: the client does not wait until the request is logged.
type wholeAnswer struct {
	ctx    huma.Context
	status int
}

func (a *wholeAnswer) Write(body []byte) (int, error) {
	a.ctx.SetHeader("Content-Length", strconv.Itoa(len(body)))
	a.ctx.SetStatus(a.status)
	writer := a.ctx.BodyWriter()
	n, err := writer.Write(body)
	if answer, is := writer.(http.ResponseWriter); is && err == nil {
		err = http.NewResponseController(answer).Flush()
	}
	return n, err
}
