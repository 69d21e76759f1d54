// Package httpcode maps the codes of errors to statuses of HTTP.
package httpcode

import (
	"net/http"

	"github.com/yurtrun/yurt"
)

// ClientClosedRequest is the status of a request whose client went away, as nginx has it.
const ClientClosedRequest = 499

// Of returns the status of a response with the code.
func Of(code yurt.Code) int {
	if status, ok := statuses()[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

func statuses() map[yurt.Code]int {
	return map[yurt.Code]int{
		yurt.CodeInvalidArgument:      http.StatusBadRequest,
		yurt.CodeUnknownField:         http.StatusBadRequest,
		yurt.CodeMalformedBody:        http.StatusBadRequest,
		yurt.CodeBodyTooLarge:         http.StatusRequestEntityTooLarge,
		yurt.CodeLimitOutOfRange:      http.StatusBadRequest,
		yurt.CodeInvalidPath:          http.StatusBadRequest,
		yurt.CodePathOutsideWorkspace: http.StatusBadRequest,
		yurt.CodeFileNotFound:         http.StatusNotFound,
		yurt.CodeNotAFile:             http.StatusConflict,
		yurt.CodeFileTooLarge:         http.StatusRequestEntityTooLarge,
		yurt.CodeFileExists:           http.StatusConflict,
		yurt.CodeRangeNotSatisfiable:  http.StatusRequestedRangeNotSatisfiable,
		yurt.CodeArchiveInvalid:       http.StatusUnprocessableEntity,
		yurt.CodeWorkspaceFull:        http.StatusInsufficientStorage,
		yurt.CodeDiskFull:             http.StatusInsufficientStorage,
		yurt.CodeNotFound:             http.StatusNotFound,
		yurt.CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
		yurt.CodeSessionNotFound:      http.StatusNotFound,
		yurt.CodeSessionEnded:         http.StatusConflict,
		yurt.CodeExecutionNotFound:    http.StatusNotFound,
		yurt.CodeContextNotFound:      http.StatusNotFound,
		yurt.CodeContextBusy:          http.StatusConflict,
		yurt.CodeNodeNotFound:         http.StatusNotFound,
		yurt.CodeExecutionRunning:     http.StatusConflict,
		yurt.CodeExecutionEnded:       http.StatusConflict,
		yurt.CodeStdinClosed:          http.StatusConflict,
		yurt.CodeProcessNotFound:      http.StatusNotFound,
		yurt.CodeIllegalTransition:    http.StatusConflict,
		yurt.CodeTemplateNotFound:     http.StatusNotFound,
		yurt.CodeTemplateInvalid:      http.StatusUnprocessableEntity,
		yurt.CodeTemplateExists:       http.StatusConflict,
		yurt.CodeTemplateInUse:        http.StatusConflict,
		yurt.CodeIdempotencyConflict:  http.StatusConflict,
		yurt.CodePreconditionFailed:   http.StatusPreconditionFailed,
		yurt.CodeForbidden:            http.StatusForbidden,
		yurt.CodeUnauthenticated:      http.StatusUnauthorized,
		yurt.CodeKeyNotFound:          http.StatusNotFound,
		yurt.CodeLanguageNotSupported: http.StatusBadRequest,
		yurt.CodeRuntimeUnavailable:   http.StatusServiceUnavailable,
		yurt.CodeRuntimeIncompatible:  http.StatusServiceUnavailable,
		yurt.CodeSandboxNotFound:      http.StatusNotFound,
		yurt.CodeSandboxFailed:        http.StatusInternalServerError,
		yurt.CodeLimitNotEnforceable:  http.StatusUnprocessableEntity,
		yurt.CodeNotSupported:         http.StatusNotImplemented,
		yurt.CodeOverloaded:           http.StatusTooManyRequests,
		yurt.CodeQuotaExceeded:        http.StatusTooManyRequests,
		yurt.CodeUnavailable:          http.StatusServiceUnavailable,
		yurt.CodeCanceled:             ClientClosedRequest,
		yurt.CodeDeadlineExceeded:     http.StatusGatewayTimeout,
		yurt.CodeInternal:             http.StatusInternalServerError,
	}
}
