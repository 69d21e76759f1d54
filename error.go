package yurt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
)

// Code names a kind of failure. The set is closed: clients may switch on it, and
// every code has exactly one row in [codeTable].
type Code string

// The codes. Their strings are part of the API and never change.
const (
	CodeInvalidArgument      Code = "invalid_argument"       // a field's value is not allowed
	CodeUnknownField         Code = "unknown_field"          // the body names a field that does not exist
	CodeMalformedBody        Code = "malformed_body"         // the body is not what its content type says
	CodeBodyTooLarge         Code = "body_too_large"         // the request body exceeds the limit
	CodeLimitOutOfRange      Code = "limit_out_of_range"     // a limit is negative, zero or beyond what is allowed
	CodeInvalidPath          Code = "invalid_path"           // a path is empty or holds control characters
	CodePathOutsideWorkspace Code = "path_outside_workspace" // a path or link leads out of /workspace
	CodeFileNotFound         Code = "file_not_found"         // no such file
	CodeNotAFile             Code = "not_a_file"             // the path names something that is not a regular file
	CodeFileTooLarge         Code = "file_too_large"         // a file exceeds the limit
	CodeFileExists           Code = "file_exists"            // there is something where nothing may be
	CodeRangeNotSatisfiable  Code = "range_not_satisfiable"  // the file has nothing of the range that was asked for
	CodeArchiveInvalid       Code = "archive_invalid"        // an archive is broken, or holds what may not be unpacked
	CodeWorkspaceFull        Code = "workspace_full"         // no space or inodes left in the workspace
	CodeDiskFull             Code = "disk_full"              // no space left on a disk of the server's or the node's
	CodeNotFound             Code = "not_found"              // no such route or resource of another kind
	CodeMethodNotAllowed     Code = "method_not_allowed"     // the route exists, the verb does not
	CodeSessionNotFound      Code = "session_not_found"      // no such session
	CodeSessionEnded         Code = "session_ended"          // the session has terminated or failed
	CodeExecutionNotFound    Code = "execution_not_found"    // no such execution
	CodeContextNotFound      Code = "context_not_found"      // no such context in the session
	CodeContextBusy          Code = "context_busy"           // the context's interpreter is at work
	CodeNodeNotFound         Code = "node_not_found"         // no such node announces itself
	CodeExecutionRunning     Code = "execution_running"      // the result is not there yet
	CodeExecutionEnded       Code = "execution_ended"        // the execution has ended, so nothing can be done to it
	CodeStdinClosed          Code = "stdin_closed"           // the execution has no stdin that is open, or not any more
	CodeProcessNotFound      Code = "process_not_found"      // no such process in the sandbox
	CodeIllegalTransition    Code = "illegal_transition"     // the state machine does not allow it
	CodeTemplateNotFound     Code = "template_not_found"     // no such template
	CodeTemplateInvalid      Code = "template_invalid"       // the template does not decode or validate
	CodeTemplateExists       Code = "template_exists"        // a template of that name exists
	CodeTemplateInUse        Code = "template_in_use"        // other templates extend it
	CodeIdempotencyConflict  Code = "idempotency_conflict"   // the Idempotency-Key was used with another request
	CodeForbidden            Code = "forbidden"              // the caller may not do this, such as a page of another origin
	CodeLanguageNotSupported Code = "language_not_supported" // the template or node has no such language
	CodeRuntimeUnavailable   Code = "runtime_unavailable"    // a language runtime plugin crashed or hangs
	CodeRuntimeIncompatible  Code = "runtime_incompatible"   // a plugin speaks another protocol version
	CodeSandboxNotFound      Code = "sandbox_not_found"      // no such sandbox on the node
	CodeSandboxFailed        Code = "sandbox_failed"         // a sandbox could not be made, or was lost
	CodeLimitNotEnforceable  Code = "limit_not_enforceable"  // the host cannot enforce a limit that was asked for
	CodeNotSupported         Code = "not_supported"          // asked for something that this build does not do
	CodeOverloaded           Code = "overloaded"             // full; try again later
	CodeUnavailable          Code = "unavailable"            // a part that is needed is not there now
	CodeCanceled             Code = "canceled"               // the caller went away
	CodeDeadlineExceeded     Code = "deadline_exceeded"      // the request's own deadline passed
	CodeInternal             Code = "internal"               // a fault of Yurt
)

// Exit codes of the command line.
const (
	ExitOK            = 0 // success
	ExitError         = 1 // general error
	ExitFileNotFound  = 2 // file not found or unreadable
	ExitSyntax        = 3 // syntax error, or the handler is not defined
	ExitTimeout       = 4 // execution timeout
	ExitSandboxFailed = 5 // the sandbox could not be initialised
)

type codeRow struct {
	http int
	grpc codes.Code
	exit int
}

// codeTable is the one mapping from codes to what each transport calls them.
func codeTable() map[Code]codeRow {
	return map[Code]codeRow{
		CodeInvalidArgument:      {http.StatusBadRequest, codes.InvalidArgument, ExitError},
		CodeUnknownField:         {http.StatusBadRequest, codes.InvalidArgument, ExitError},
		CodeMalformedBody:        {http.StatusBadRequest, codes.InvalidArgument, ExitError},
		CodeBodyTooLarge:         {http.StatusRequestEntityTooLarge, codes.InvalidArgument, ExitError},
		CodeLimitOutOfRange:      {http.StatusBadRequest, codes.OutOfRange, ExitError},
		CodeInvalidPath:          {http.StatusBadRequest, codes.InvalidArgument, ExitError},
		CodePathOutsideWorkspace: {http.StatusBadRequest, codes.PermissionDenied, ExitError},
		CodeFileNotFound:         {http.StatusNotFound, codes.NotFound, ExitFileNotFound},
		CodeNotAFile:             {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeFileTooLarge:         {http.StatusRequestEntityTooLarge, codes.ResourceExhausted, ExitError},
		CodeFileExists:           {http.StatusConflict, codes.AlreadyExists, ExitError},
		CodeRangeNotSatisfiable:  {http.StatusRequestedRangeNotSatisfiable, codes.OutOfRange, ExitError},
		CodeArchiveInvalid:       {http.StatusUnprocessableEntity, codes.InvalidArgument, ExitError},
		CodeWorkspaceFull:        {http.StatusInsufficientStorage, codes.ResourceExhausted, ExitError},
		CodeDiskFull:             {http.StatusInsufficientStorage, codes.ResourceExhausted, ExitError},
		CodeNotFound:             {http.StatusNotFound, codes.NotFound, ExitError},
		CodeMethodNotAllowed:     {http.StatusMethodNotAllowed, codes.Unimplemented, ExitError},
		CodeSessionNotFound:      {http.StatusNotFound, codes.NotFound, ExitError},
		CodeSessionEnded:         {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeExecutionNotFound:    {http.StatusNotFound, codes.NotFound, ExitError},
		CodeContextNotFound:      {http.StatusNotFound, codes.NotFound, ExitError},
		CodeContextBusy:          {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeNodeNotFound:         {http.StatusNotFound, codes.NotFound, ExitError},
		CodeExecutionRunning:     {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeExecutionEnded:       {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeStdinClosed:          {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeProcessNotFound:      {http.StatusNotFound, codes.NotFound, ExitError},
		CodeIllegalTransition:    {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeTemplateNotFound:     {http.StatusNotFound, codes.NotFound, ExitError},
		CodeTemplateInvalid:      {http.StatusUnprocessableEntity, codes.InvalidArgument, ExitError},
		CodeTemplateExists:       {http.StatusConflict, codes.AlreadyExists, ExitError},
		CodeTemplateInUse:        {http.StatusConflict, codes.FailedPrecondition, ExitError},
		CodeIdempotencyConflict:  {http.StatusConflict, codes.AlreadyExists, ExitError},
		CodeForbidden:            {http.StatusForbidden, codes.PermissionDenied, ExitError},
		CodeLanguageNotSupported: {http.StatusBadRequest, codes.InvalidArgument, ExitError},
		CodeRuntimeUnavailable:   {http.StatusServiceUnavailable, codes.Unavailable, ExitSandboxFailed},
		CodeRuntimeIncompatible:  {http.StatusServiceUnavailable, codes.FailedPrecondition, ExitSandboxFailed},
		CodeSandboxNotFound:      {http.StatusNotFound, codes.NotFound, ExitSandboxFailed},
		CodeSandboxFailed:        {http.StatusInternalServerError, codes.Internal, ExitSandboxFailed},
		CodeLimitNotEnforceable:  {http.StatusUnprocessableEntity, codes.FailedPrecondition, ExitSandboxFailed},
		CodeNotSupported:         {http.StatusNotImplemented, codes.Unimplemented, ExitError},
		CodeOverloaded:           {http.StatusTooManyRequests, codes.ResourceExhausted, ExitError},
		CodeUnavailable:          {http.StatusServiceUnavailable, codes.Unavailable, ExitError},
		CodeCanceled:             {499, codes.Canceled, ExitError},
		CodeDeadlineExceeded:     {http.StatusGatewayTimeout, codes.DeadlineExceeded, ExitError},
		CodeInternal:             {http.StatusInternalServerError, codes.Internal, ExitError},
	}
}

// Codes returns every code, for documentation and tests; its order is not stable.
func Codes() []Code {
	table := codeTable()
	list := make([]Code, 0, len(table))
	for c := range table {
		list = append(list, c)
	}
	return list
}

func (c Code) row() codeRow {
	if row, ok := codeTable()[c]; ok {
		return row
	}
	return codeTable()[CodeInternal]
}

// HTTPStatus returns the status that a response with this code carries.
func (c Code) HTTPStatus() int { return c.row().http }

// GRPC returns the status code of gRPC for this code.
func (c Code) GRPC() codes.Code { return c.row().grpc }

// ExitCode returns the exit code of a command that fails with this code.
func (c Code) ExitCode() int { return c.row().exit }

// Error is a failure that a user may read: a stable code, a sentence that says
// what to do, and the field that was wrong where there is one.
type Error struct {
	Code    Code
	Message string
	Field   string // dotted path of the offending input, such as "resources.memory"; may be empty
	// RetryAfter is how long to wait before asking again; 0 when that is not known.
	RetryAfter time.Duration
	cause      error
}

// Errorf makes an [Error]. A %w verb keeps its operand in the chain.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// FieldErrorf makes an [Error] about one field of the input.
func FieldErrorf(code Code, field, format string, args ...any) *Error {
	err := Errorf(code, format, args...)
	err.Field = field
	return err
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

// Hidden returns err without its text, as a cause for the log that a message leaves out: it may name files or hosts.
func Hidden(err error) error { return hidden{err} }

type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

// Unwrap returns the cause, so that errors.Is and errors.As see through.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of the first [Error] in err's chain. Context errors
// have codes of their own; anything else is [CodeInternal]; nil is "".
func CodeOf(err error) Code {
	var coded *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return CodeDeadlineExceeded
	default:
		return CodeInternal
	}
}
