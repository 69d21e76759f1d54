package yurt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code names a kind of failure. The set is closed: clients may switch on it. Each transport has one
// table that maps the codes to its own.
type Code string

// The codes. Their strings are part of the API and never change.
const (
	CodeInvalidArgument      Code = "invalid_argument"       // a field's value is not allowed
	CodeUnknownField         Code = "unknown_field"          // the body names a field that does not exist
	CodeMalformedBody        Code = "malformed_body"         // the body does not have the format of its content type
	CodeBodyTooLarge         Code = "body_too_large"         // the request body exceeds the limit
	CodeLimitOutOfRange      Code = "limit_out_of_range"     // a limit is negative, zero or beyond its bounds
	CodeInvalidPath          Code = "invalid_path"           // a path is empty or holds control characters
	CodePathOutsideWorkspace Code = "path_outside_workspace" // a path or link leads out of /workspace
	CodeFileNotFound         Code = "file_not_found"         // no such file
	CodeNotAFile             Code = "not_a_file"             // the path names something that is not a regular file
	CodeFileTooLarge         Code = "file_too_large"         // a file exceeds the limit
	CodeFileExists           Code = "file_exists"            // the path exists already
	CodeRangeNotSatisfiable  Code = "range_not_satisfiable"  // the file has no bytes in the range that was asked for
	CodeArchiveInvalid       Code = "archive_invalid"        // an archive is broken, or has forbidden entries
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
	CodeExecutionEnded       Code = "execution_ended"        // the execution has ended and can no longer be changed
	CodeStdinClosed          Code = "stdin_closed"           // the execution has no stdin that is open, or not any more
	CodeProcessNotFound      Code = "process_not_found"      // no such process in the sandbox
	CodeIllegalTransition    Code = "illegal_transition"     // the state machine does not allow it
	CodeTemplateNotFound     Code = "template_not_found"     // no such template
	CodeTemplateInvalid      Code = "template_invalid"       // the template does not decode or validate
	CodeTemplateExists       Code = "template_exists"        // a template of that name exists
	CodeTemplateInUse        Code = "template_in_use"        // other templates extend it
	CodeIdempotencyConflict  Code = "idempotency_conflict"   // the Idempotency-Key was used with another request
	CodePreconditionFailed   Code = "precondition_failed"    // a file or a template is not the one that the request is for
	CodeForbidden            Code = "forbidden"              // the caller may not do this, such as a page of another origin
	CodeUnauthenticated      Code = "unauthenticated"        // the server asks for an API key, and the request has no valid one
	CodeKeyNotFound          Code = "key_not_found"          // no such API key
	CodeLanguageNotSupported Code = "language_not_supported" // the template or node has no such language
	CodeRuntimeUnavailable   Code = "runtime_unavailable"    // a language runtime plugin crashed or hangs
	CodeRuntimeIncompatible  Code = "runtime_incompatible"   // a plugin speaks another protocol version
	CodeSandboxNotFound      Code = "sandbox_not_found"      // no such sandbox on the node
	CodeSandboxFailed        Code = "sandbox_failed"         // a sandbox could not be made, or was lost
	CodeLimitNotEnforceable  Code = "limit_not_enforceable"  // the host cannot enforce a limit that was asked for
	CodeNotSupported         Code = "not_supported"          // asked for something that this build does not do
	CodeOverloaded           Code = "overloaded"             // full; try again later
	CodeQuotaExceeded        Code = "quota_exceeded"         // the tenant has as much as its quota allows
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

// Codes returns every code.
func Codes() []Code {
	return []Code{
		CodeInvalidArgument,
		CodeUnknownField,
		CodeMalformedBody,
		CodeBodyTooLarge,
		CodeLimitOutOfRange,
		CodeInvalidPath,
		CodePathOutsideWorkspace,
		CodeFileNotFound,
		CodeNotAFile,
		CodeFileTooLarge,
		CodeFileExists,
		CodeRangeNotSatisfiable,
		CodeArchiveInvalid,
		CodeWorkspaceFull,
		CodeDiskFull,
		CodeNotFound,
		CodeMethodNotAllowed,
		CodeSessionNotFound,
		CodeSessionEnded,
		CodeExecutionNotFound,
		CodeContextNotFound,
		CodeContextBusy,
		CodeNodeNotFound,
		CodeExecutionRunning,
		CodeExecutionEnded,
		CodeStdinClosed,
		CodeProcessNotFound,
		CodeIllegalTransition,
		CodeTemplateNotFound,
		CodeTemplateInvalid,
		CodeTemplateExists,
		CodeTemplateInUse,
		CodeIdempotencyConflict,
		CodePreconditionFailed,
		CodeForbidden,
		CodeUnauthenticated,
		CodeKeyNotFound,
		CodeLanguageNotSupported,
		CodeRuntimeUnavailable,
		CodeRuntimeIncompatible,
		CodeSandboxNotFound,
		CodeSandboxFailed,
		CodeLimitNotEnforceable,
		CodeNotSupported,
		CodeOverloaded,
		CodeQuotaExceeded,
		CodeUnavailable,
		CodeCanceled,
		CodeDeadlineExceeded,
		CodeInternal,
	}
}

// ExitCode returns the exit code of a command that fails with this code.
func (c Code) ExitCode() int {
	switch c {
	case CodeFileNotFound:
		return ExitFileNotFound
	case CodeRuntimeUnavailable, CodeRuntimeIncompatible, CodeSandboxNotFound, CodeSandboxFailed, CodeLimitNotEnforceable:
		return ExitSandboxFailed
	default:
		return ExitError
	}
}

// Error is a failure that a user may read: a stable code, a sentence with the next step, and the
// field that was wrong where there is one.
type Error struct {
	Code    Code
	Message string
	Field   string // dotted path of the offending input, such as "resources.memory"; may be empty
	// RetryAfter is how long to wait before asking again; 0 when that is not known.
	RetryAfter time.Duration
	// ETag is the present one, of a [CodePreconditionFailed] error; empty if there is no such file or template.
	ETag string
	// Quota is the quota that is exceeded, of a [CodeQuotaExceeded] error.
	Quota *QuotaUse
	cause error
}

// QuotaUse is how much a tenant uses of a quota.
type QuotaUse struct {
	Name  string  `json:"name" doc:"Name of the quota, as in GET /usage." example:"sessions"`
	Used  float64 `json:"used" doc:"The tenant's usage."`
	Limit float64 `json:"limit" doc:"The quota's limit."`
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

// IsField reports whether the first [Error] in err's chain is about that field.
func IsField(err error, field string) bool {
	var coded *Error
	return errors.As(err, &coded) && coded.Field == field
}

// OrCode gives an error that has no code of its own the code, with the text before it. Any other error stays as it is.
func OrCode(err error, code Code, text string) error {
	if CodeOf(err) != CodeInternal {
		return err
	}
	return Errorf(code, "%s: %w", text, err)
}
