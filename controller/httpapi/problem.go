package httpapi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/httpapi/internal/conditional"
	"github.com/yurtrun/yurt/internal/httpcode"
)

// retryAfter is the wait that an overloaded or starting server asks of its clients, if the error does not name one.
const retryAfter = time.Second

// problem is an error as a client sees it (RFC 9457).
type problem struct {
	Type      string          `json:"type" doc:"URN of the code." example:"urn:yurt:error:session_not_found"`
	Title     string          `json:"title" doc:"Title of the error, in words."`
	Status    int             `json:"status" doc:"The HTTP status."`
	Detail    string          `json:"detail" doc:"Describes the error, the allowed values and the next step."`
	Code      yurt.Code       `json:"code" doc:"Code of the error, which is the same in every release."`
	Field     string          `json:"field,omitempty" doc:"Dotted path of the wrong input."`
	Errors    []problemDetail `json:"errors,omitempty" doc:"All errors, if there are several."`
	Quota     *yurt.QuotaUse  `json:"quota,omitempty" doc:"The exceeded quota, for an error with the code quota_exceeded."`
	RequestID string          `json:"request_id,omitempty" doc:"The request's id in the server's log."`

	retryAfter time.Duration // a header
	etag       string        // likewise
}

// problemDetail is one of several errors.
type problemDetail struct {
	Code     yurt.Code `json:"code"`
	Message  string    `json:"message"`
	Location string    `json:"location,omitempty" doc:"Place of the input, such as query.limit or body.env."`
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return typeProblem }

// GetHeaders implements huma.HeadersError.
func (p *problem) GetHeaders() http.Header {
	if p.Status == http.StatusUnauthorized {
		return http.Header{"Www-Authenticate": {"Bearer"}}
	}
	if p.etag != "" {
		return http.Header{"Etag": {p.etag}}
	}
	if p.retryAfter > 0 || p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		seconds := math.Ceil(cmp.Or(p.retryAfter, retryAfter).Seconds())
		return http.Header{"Retry-After": {strconv.Itoa(int(seconds))}}
	}
	return nil
}

func newProblem(ctx context.Context, code yurt.Code, field, detail string) *problem {
	title := strings.ReplaceAll(string(code), "_", " ")
	return &problem{
		Type: "urn:yurt:error:" + string(code), Title: strings.ToUpper(title[:1]) + title[1:],
		Status: httpcode.Of(code), Detail: detail, Code: code, Field: field, RequestID: requestID(ctx),
	}
}

// problemOf turns an error of the controller into a problem. An error without a code is our own fault: it is logged,
// and the client learns only that the server failed.
func (a *API) problemOf(ctx context.Context, err error) *problem {
	var (
		coded *yurt.Error
		ready *problem
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &coded):
		if coded.Code == yurt.CodeInternal {
			a.log.ErrorContext(ctx, "request failed", "request_id", requestID(ctx), "error", err)
		}
		p := newProblem(ctx, coded.Code, coded.Field, coded.Message)
		p.retryAfter, p.etag, p.Quota = coded.RetryAfter, coded.ETag, coded.Quota
		audit.Explain(ctx, coded)
		return p
	}
	switch code := yurt.CodeOf(err); code {
	case yurt.CodeCanceled:
		if errors.As(context.Cause(ctx), &coded) { // such as that its key was revoked
			return newProblem(ctx, coded.Code, coded.Field, coded.Message)
		}
		return newProblem(ctx, code, "", "the request was canceled")
	case yurt.CodeDeadlineExceeded:
		return newProblem(ctx, code, "", "the request took longer than it may")
	default:
		a.log.ErrorContext(ctx, "request failed", "request_id", requestID(ctx), "error", err)
		return newProblem(ctx, yurt.CodeInternal, "", "the server failed; its log says more under the request id")
	}
}

// transformError turns huma's own errors, about parameters, into problems. Huma's contain the refused values, which
// must not get through.
func transformError(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := problemOfModel(ctx.Context(), model)
	if c, ok := ctx.(*operationContext); ok {
		c.status = p.Status
	}
	for name, values := range p.GetHeaders() {
		ctx.SetHeader(name, values[0])
	}
	return p, nil
}

func problemOfModel(ctx context.Context, model *huma.ErrorModel) *problem {
	var details []problemDetail
	for _, detail := range model.Errors {
		details = append(details, detailOf(detail))
	}
	if len(details) == 0 {
		return newProblem(ctx, yurt.CodeInternal, "", "the server failed; its log says more under the request id")
	}
	first := details[0]
	_, field, _ := strings.Cut(first.Location, ".")
	p := newProblem(ctx, first.Code, field, first.Message)
	if len(details) > 1 {
		p.Errors = details
	}
	return p
}

// detailOf translates one error of huma's. Its message speaks of the schema and
// never of the value.
func detailOf(detail *huma.ErrorDetail) problemDetail {
	if err, ok := detail.Value.(error); ok { // one of ours, see codedDetail
		var coded *yurt.Error
		if errors.As(err, &coded) {
			location := ""
			if coded.Field != "" {
				location = "body." + coded.Field
			}
			return problemDetail{Code: coded.Code, Message: coded.Message, Location: location}
		}
		return problemDetail{Code: yurt.CodeMalformedBody, Message: "the body could not be read"}
	}
	code := yurt.CodeInvalidArgument
	switch {
	case detail.Location == "path.path":
		code = yurt.CodeInvalidPath
	case strings.HasPrefix(detail.Message, "unknown query parameter"):
		code = yurt.CodeUnknownField
	case strings.HasPrefix(detail.Message, "expected number"):
		code = yurt.CodeLimitOutOfRange
	}
	message := detail.Message
	if allowed, is := strings.CutPrefix(message, "expected string to be "); is {
		message = "the text is not of the form that is allowed; give " + allowed
	}
	return problemDetail{Code: code, Message: message, Location: detail.Location}
}

// preconditionFailed documents the answer to a request for another version of a file or a template than the present one.
func preconditionFailed(a *API) *huma.Response {
	return &huma.Response{
		Description: "The file or template is not the one that If-Match or If-None-Match names. The ETag is the present one, if there is any.",
		Headers:     conditional.Headers(), Content: map[string]*huma.MediaType{typeProblem: {Schema: schemaOf[problem](a, "Problem")}},
	}
}

// writeProblem answers a request that reached no operation.
func writeProblem(w http.ResponseWriter, p *problem) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", typeProblem)
	w.WriteHeader(p.Status)
	_ = writeJSON(w, p) // a client that left needs no error
}

// unknownRoute answers requests without a route: with the methods that the path has, if it has any.
func (a *API) unknownRoute(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); strings.Contains(pattern, " ") {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		writeProblem(w, newProblem(r.Context(), yurt.CodeNotFound, "", "there is nothing at this path; /docs lists what there is"))
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	writeProblem(w, newProblem(r.Context(), yurt.CodeMethodNotAllowed, "", "this path takes "+list))
}
