package wire

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
	"github.com/yurtrun/yurt/internal/grpccode"
)

// maxErrorText bounds the text of an error, in bytes: it travels in headers.
const maxErrorText = 16 << 10

// EncodeError makes a status that keeps the fields of a [yurt.Error].
func EncodeError(err error) error {
	code := yurt.CodeOf(err)
	wire := &proto.Error{Code: string(code), Message: wireText(err.Error())}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		// The message keeps the text of wrapping errors for its reader.
		wire.Field, wire.RetryAfterNs, wire.Etag = wireText(coded.Field), int64(coded.RetryAfter), wireText(coded.ETag)
		if err.Error() == coded.Error() {
			wire.Message = wireText(coded.Message)
		}
	}
	st, detailErr := status.New(grpccode.Of(code), "see the details").WithDetails(wire)
	if detailErr != nil {
		return status.Error(grpccode.Of(code), wire.GetMessage())
	}
	return st.Err()
}

// wireText makes text fit for a message: protobuf refuses text that is not UTF-8.
func wireText(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "\ufffd")
}

// DecodeError returns the executor's error, or the reason why its answer is missing. If ctx ended, that is the reason.
func DecodeError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	st := status.Convert(err)
	if deadline, ok := ctx.Deadline(); ok && st.Code() == codes.DeadlineExceeded && !time.Now().Before(deadline) {
		return context.DeadlineExceeded // of which ctx is about to hear
	}
	for _, detail := range st.Details() {
		if wire, ok := detail.(*proto.Error); ok {
			return decodeError(wire)
		}
	}
	switch st.Code() {
	case codes.Unavailable, codes.DeadlineExceeded:
		return yurt.Errorf(yurt.CodeUnavailable, "the executor does not answer: %s", st.Message())
	case codes.Unimplemented:
		return yurt.Errorf(yurt.CodeNotSupported, "the executor is of a version that does not know this call: %w", &UnknownCall{st.Message()})
	case codes.ResourceExhausted:
		return yurt.Errorf(yurt.CodeBodyTooLarge, "the request or its answer is larger than a message may be: %s", st.Message())
	case codes.Canceled: // by the end of the connection: the caller waits on
		return yurt.Errorf(yurt.CodeUnavailable, "the call to the executor was given up: %s", st.Message())
	default:
		return yurt.Errorf(yurt.CodeInternal, "calling the executor: %s", st.Message())
	}
}

// UnknownCall says that an executor does not know a call, which it has not begun with then.
type UnknownCall struct{ message string }

func (e *UnknownCall) Error() string { return e.message }

func decodeError(wire *proto.Error) error {
	code := yurt.Code(wire.GetCode())
	if !slices.Contains(yurt.Codes(), code) {
		code = yurt.CodeInternal // of a newer version
	}
	err := yurt.Errorf(code, "%s", wire.GetMessage())
	err.Field, err.RetryAfter, err.ETag = wire.GetField(), time.Duration(wire.GetRetryAfterNs()), wire.GetEtag()
	return err
}
