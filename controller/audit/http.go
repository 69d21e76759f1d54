package audit

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
)

// operationAgents serves MCP: each call of a tool has an entry of its own.
const operationAgents = "/mcp"

// Describe returns an entry about a request for an operation, without its outcome.
func Describe(r *http.Request, operation, requestID string) Entry {
	e := Entry{At: time.Now(), Action: operation, Address: auth.AddressOf(r), Target: r.URL.Path, RequestID: requestID}
	if strings.HasPrefix(operation, "/") { // of the older API, whose operations have no names
		e.Action = r.Method + " " + operation
	}
	if caller, ok := access.From(r.Context()); ok {
		e.By(caller)
	}
	if id := r.PathValue("id"); strings.HasPrefix(id, yurt.SessionIDPrefix) {
		e.SessionID = cut(id, maxTarget)
	}
	return e
}

// Refused adds the entry of a request that was refused before its operation began.
func (l *Log) Refused(r *http.Request, operation, requestID string, why error) {
	if l == nil {
		return
	}
	e := Describe(r, operation, requestID)
	if holder := auth.HolderOf(why); holder != nil {
		e.By(holder)
	}
	e.Decision, e.Detail = Denied, why.Error()
	l.Note(e)
}

// Serve has next serve a request for an operation. If the operation changes something, its entry is added before the client sees the
// answer. An error means that there is no room for the entry: next was not called.
func (l *Log) Serve(w http.ResponseWriter, r *http.Request, operation, requestID string, next http.Handler) error {
	if l == nil || !changes(operation, r.Method) {
		next.ServeHTTP(w, r)
		return nil
	}
	pending, err := l.Begin(r.Context())
	if err != nil {
		return err
	}
	a := &answer{ResponseWriter: w, pending: pending, entry: Describe(r, operation, requestID)}
	defer a.end(http.StatusInternalServerError) // of an operation that panics
	next.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), answerKey{}, a)))
	a.end(http.StatusOK)
	return nil
}

// answerKey finds the [answer] of a request in its context.
type answerKey struct{}

// Explain adds the reason of an error to the entry of the request that ctx belongs to, before its answer begins.
func Explain(ctx context.Context, err error) {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		a.entry.Detail = ReasonOf(err)
	}
}

// ReasonOf names the quota that a request would exceed. It is empty for other errors, whose text may have values of the request.
func ReasonOf(err error) string {
	var coded *yurt.Error
	if errors.As(err, &coded) && coded.Quota != nil {
		return "quota " + coded.Quota.Name
	}
	return ""
}

// changes reports whether an operation may change something. Terminals are opened by GET, since they are WebSockets.
func changes(operation, method string) bool {
	if operation == operationAgents {
		return false
	}
	return method != http.MethodGet && method != http.MethodHead || operation == "open-terminal"
}

// answer adds the entry of a request when its answer begins.
type answer struct {
	http.ResponseWriter
	pending *Pending
	entry   Entry
}

func (a *answer) end(status int) {
	a.entry.Status, a.entry.Decision = status, Outcome(status)
	if made := path.Base(a.Header().Get("Location")); a.entry.SessionID == "" && strings.HasPrefix(made, yurt.SessionIDPrefix) {
		a.entry.SessionID = made
	}
	a.pending.End(a.entry)
}

// Outcome returns the decision that the status of an answer stands for.
func Outcome(status int) access.Decision {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests:
		return Denied
	case status >= http.StatusBadRequest:
		return Failed
	default:
		return Allowed
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols || status >= http.StatusOK { // others come before the answer
		a.end(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	a.end(http.StatusOK)
	return a.ResponseWriter.Write(data)
}
