package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
	"github.com/yurtrun/yurt/controller/httpapi/internal/document"
)

// securityScheme names the API keys in the document.
const securityScheme = "apiKey"

// Extension adds operations to an API before the API describes itself.
type Extension func(*API)

// JSONBody is the strictly decoded body of a request, as part of an operation's input.
type JSONBody[T any] = jsonBody[T]

// Value returns the body.
func (b *jsonBody[T]) Value() T { return b.value }

// Register adds an operation below the prefix of the API. Its errors become problems.
func Register[I, O any](a *API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	register(a, op, handler)
}

// DocumentBody describes the JSON body of an operation that was registered, as the schema of T with a name. The sample is a
// body that works as it stands.
func DocumentBody[T any](a *API, method, path, name, title string, value any) {
	op := a.registered(method, path)
	a.documentBody(op, map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[T](a, name)}})
	a.samples[op.OperationID] = []document.Sample{{Name: "sample", Title: title, Value: value}}
}

// Narrow documents the enforced bounds of the members of a body, which is the schema of T with a name.
func Narrow[T any](a *API, name string, members map[string]bounds.Bound) {
	bounds.Narrow(a.huma.OpenAPI().Components.Schemas, schemaOf[T](a, name), members)
}

// guarded serves an operation for callers that the policy lets through.
func (a *API) guarded(operation string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.policy.Decide(r.Context(), operation); err != nil {
			a.refuse(w, r, operation, err)
			return
		}
		if err := a.config.Audit.Serve(w, r, operation, requestID(r.Context()), next); err != nil {
			writeProblem(w, a.problemOf(r.Context(), err))
		}
	})
}

// security declares the scopes of an operation: a key needs one of them. A server without keys asks for no key.
func security(policy auth.Policy, operation string, keys bool) []map[string][]string {
	scopes, known := policy[operation]
	if !known {
		panic("httpapi: the policy has no row for the operation " + operation)
	}
	var either []map[string][]string
	for _, scope := range scopes {
		either = append(either, map[string][]string{securityScheme: {string(scope)}})
	}
	if len(either) > 0 && !keys {
		either = append(either, map[string][]string{})
	}
	return either
}
