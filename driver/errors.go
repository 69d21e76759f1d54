package driver

import (
	shared "github.com/hashicorp/nomad/plugins/shared/structs/proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/grpccode"
)

// wire is the error as Nomad gets and shows it. An error that may pass in a moment is marked so that Nomad tries again, by the
// job's restart policy.
func wire(err error) error {
	if err == nil {
		return nil
	}
	code := yurt.CodeOf(err)
	grpcCode := grpccode.Of(code)
	if grpcCode == codes.Unavailable { // by which the client takes the plugin for gone
		grpcCode = codes.Aborted
	}
	failure := status.New(grpcCode, err.Error())
	detailed, failed := failure.WithDetails(&shared.RecoverableError{Recoverable: recoverable(code)})
	if failed != nil {
		return failure.Err()
	}
	return detailed.Err()
}

func recoverable(code yurt.Code) bool {
	switch code {
	case yurt.CodeOverloaded, yurt.CodeUnavailable, yurt.CodeSandboxFailed, yurt.CodeRuntimeUnavailable, yurt.CodeDeadlineExceeded, yurt.CodeInternal:
		return true
	default:
		return false
	}
}

// gone reports whether the error says that there is no such sandbox, execution or slot.
func gone(err error) bool {
	switch yurt.CodeOf(err) {
	case yurt.CodeSandboxNotFound, yurt.CodeExecutionNotFound, yurt.CodeNotFound:
		return true
	default:
		return false
	}
}
