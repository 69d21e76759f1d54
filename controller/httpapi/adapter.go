package httpapi

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt/controller/httpapi/internal/document"
)

// adapter puts huma's operations onto the standard mux. In a path that ends in
// "/files/{path}" the last parameter takes the rest of the path, which OpenAPI has
// no way to say. Each operation is guarded by its id.
type adapter struct {
	mux     *http.ServeMux
	guarded func(operation string, next http.Handler) http.Handler
	// once has a request with an idempotency key carried out once.
	once func(http.Handler) http.Handler
	// compressed has answers compressed that come in one piece.
	compressed func(http.Handler) http.Handler
}

// Handle implements huma.Adapter.
func (a *adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	path := op.Path
	if head, ok := strings.CutSuffix(path, "/files/{path}"); ok {
		path = head + "/files/{path...}"
	}
	var serve http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler(&operationContext{humaContext: humago.NewContext(op, r, w)})
	})
	if op.Method == http.MethodGet && answersInOnePiece(op) {
		serve = a.compressed(serve)
	}
	if document.TakesKey(op) {
		serve = a.once(serve)
	}
	a.mux.Handle(op.Method+" "+path, a.guarded(op.OperationID, serve))
}

// answersInOnePiece reports whether the operation answers by JSON alone: not by a stream, a file or a WebSocket.
func answersInOnePiece(op *huma.Operation) bool {
	for status, answer := range op.Responses {
		if status == "101" {
			return false
		}
		for contentType := range answer.Content {
			if contentType != typeJSON && contentType != typeProblem {
				return false
			}
		}
	}
	return true
}

// ServeHTTP implements huma.Adapter.
func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// humaContext has another name, since a field cannot be called as the method Context.
type humaContext = huma.Context

// operationContext is huma's context of one request with a status that the
// transformation of an error can set: huma decides on the status before that.
type operationContext struct {
	humaContext
	status int // 0: huma's own status
}

// Unwrap lets humago find the request.
func (c *operationContext) Unwrap() huma.Context { return c.humaContext }

// SetStatus implements huma.Context.
func (c *operationContext) SetStatus(code int) {
	if c.status != 0 {
		code = c.status
	}
	c.humaContext.SetStatus(code)
}
