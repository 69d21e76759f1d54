package se

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/httpcode"
)

// answer is the form of every answer but that of a download.
type answer struct {
	Success bool     `json:"success"`
	Data    any      `json:"data,omitempty"`
	Error   *failure `json:"error,omitempty"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

// failedRun is the answer of an execution that did not end by itself: an error, with the output so far.
type failedRun struct {
	failure
	data any
}

// Error implements error.
func (f *failedRun) Error() string { return f.Message }

// write answers with data, or with an error. An error without a code is a fault of the server: the log has
// it, and the client is told no more than that.
func (a *API) write(w http.ResponseWriter, r *http.Request, data any, err error) {
	body, status := answer{Success: err == nil, Data: data}, http.StatusOK
	var (
		coded *yurt.Error
		run   *failedRun
	)
	switch {
	case err == nil:
	case errors.As(err, &run):
		body.Data, body.Error = run.data, &run.failure
	case errors.As(err, &coded) && coded.Code != yurt.CodeInternal:
		body = answer{Error: &failure{Code: codeOf(coded.Code), Message: coded.Message, Field: coded.Field}}
		status = httpcode.Of(coded.Code)
		sayWhen(w.Header(), status, coded.RetryAfter)
	default:
		if r.Context().Err() == nil {
			a.log.ErrorContext(r.Context(), "request of the older API failed", "path", r.URL.Path, "error", err)
		}
		body, status = answer{Error: &failure{Code: "INTERNAL", Message: "the server failed; its log says more"}}, http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(body)
	if data, has := body.Data.(runData); has && data.output != nil && err == nil {
		err = data.output.Write(r.Context(), w, encoded.Bytes())
	} else if err == nil {
		_, err = w.Write(encoded.Bytes())
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a client must not take a part for the whole
	}
}

// sayWhen tells a client that is refused for now when to come back.
func sayWhen(header http.Header, status int, after time.Duration) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(max(after, time.Second).Seconds()))))
	}
}

// codeOf returns the older API's name of a code; those that it had no name for are in its way of writing.
func codeOf(code yurt.Code) string {
	switch code {
	case yurt.CodeSessionEnded:
		return "SESSION_EXPIRED"
	case yurt.CodeLimitOutOfRange, yurt.CodeWorkspaceFull, yurt.CodeLimitNotEnforceable:
		return "RESOURCE_LIMIT"
	default:
		return strings.ToUpper(string(code))
	}
}
