// Package grpccode maps the codes of errors to those of gRPC.
package grpccode

import (
	"google.golang.org/grpc/codes"

	"github.com/yurtrun/yurt"
)

// Of returns the status code of gRPC for the code.
func Of(code yurt.Code) codes.Code {
	if status, ok := statuses()[code]; ok {
		return status
	}
	return codes.Internal
}

func statuses() map[yurt.Code]codes.Code {
	return map[yurt.Code]codes.Code{
		yurt.CodeInvalidArgument:      codes.InvalidArgument,
		yurt.CodeUnknownField:         codes.InvalidArgument,
		yurt.CodeMalformedBody:        codes.InvalidArgument,
		yurt.CodeBodyTooLarge:         codes.InvalidArgument,
		yurt.CodeLimitOutOfRange:      codes.OutOfRange,
		yurt.CodeInvalidPath:          codes.InvalidArgument,
		yurt.CodePathOutsideWorkspace: codes.PermissionDenied,
		yurt.CodeFileNotFound:         codes.NotFound,
		yurt.CodeNotAFile:             codes.FailedPrecondition,
		yurt.CodeFileTooLarge:         codes.ResourceExhausted,
		yurt.CodeFileExists:           codes.AlreadyExists,
		yurt.CodeRangeNotSatisfiable:  codes.OutOfRange,
		yurt.CodeArchiveInvalid:       codes.InvalidArgument,
		yurt.CodeWorkspaceFull:        codes.ResourceExhausted,
		yurt.CodeDiskFull:             codes.ResourceExhausted,
		yurt.CodeNotFound:             codes.NotFound,
		yurt.CodeMethodNotAllowed:     codes.Unimplemented,
		yurt.CodeSessionNotFound:      codes.NotFound,
		yurt.CodeSessionEnded:         codes.FailedPrecondition,
		yurt.CodeExecutionNotFound:    codes.NotFound,
		yurt.CodeContextNotFound:      codes.NotFound,
		yurt.CodeContextBusy:          codes.FailedPrecondition,
		yurt.CodeNodeNotFound:         codes.NotFound,
		yurt.CodeExecutionRunning:     codes.FailedPrecondition,
		yurt.CodeExecutionEnded:       codes.FailedPrecondition,
		yurt.CodeStdinClosed:          codes.FailedPrecondition,
		yurt.CodeProcessNotFound:      codes.NotFound,
		yurt.CodeIllegalTransition:    codes.FailedPrecondition,
		yurt.CodeTemplateNotFound:     codes.NotFound,
		yurt.CodeTemplateInvalid:      codes.InvalidArgument,
		yurt.CodeTemplateExists:       codes.AlreadyExists,
		yurt.CodeTemplateInUse:        codes.FailedPrecondition,
		yurt.CodeIdempotencyConflict:  codes.AlreadyExists,
		yurt.CodePreconditionFailed:   codes.FailedPrecondition,
		yurt.CodeForbidden:            codes.PermissionDenied,
		yurt.CodeUnauthenticated:      codes.Unauthenticated,
		yurt.CodeKeyNotFound:          codes.NotFound,
		yurt.CodeLanguageNotSupported: codes.InvalidArgument,
		yurt.CodeRuntimeUnavailable:   codes.Unavailable,
		yurt.CodeRuntimeIncompatible:  codes.FailedPrecondition,
		yurt.CodeSandboxNotFound:      codes.NotFound,
		yurt.CodeSandboxFailed:        codes.Internal,
		yurt.CodeLimitNotEnforceable:  codes.FailedPrecondition,
		yurt.CodeNotSupported:         codes.Unimplemented,
		yurt.CodeOverloaded:           codes.ResourceExhausted,
		yurt.CodeQuotaExceeded:        codes.ResourceExhausted,
		yurt.CodeUnavailable:          codes.Unavailable,
		yurt.CodeCanceled:             codes.Canceled,
		yurt.CodeDeadlineExceeded:     codes.DeadlineExceeded,
		yurt.CodeInternal:             codes.Internal,
	}
}
