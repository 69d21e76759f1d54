package protocol

import (
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/grpccode"
	"github.com/yurtrun/yurt/plugins/internal/text"
	"github.com/yurtrun/yurt/plugins/proto"
)

// ErrorToWire keeps the code and the field of a [yurt.Error].
func ErrorToWire(err error) error {
	wire := &proto.Error{Code: string(yurt.CodeOf(err)), Message: Text(err.Error())}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		wire.Message, wire.Field = Text(coded.Message), Text(coded.Field)
	}
	st := status.New(grpccode.Of(yurt.CodeOf(err)), "see the details")
	if detailed, detailErr := st.WithDetails(wire); detailErr == nil {
		st = detailed
	}
	return st.Err()
}

// Text makes text fit for a message, since protobuf refuses text that is not UTF-8.
func Text(said string) string {
	return text.Cut(strings.ToValidUTF8(said, "\ufffd"), MaxErrorBytes)
}

// ErrorFromWire returns the error that a runtime itself gave, or nil when the
// call failed for another reason, such as a lost connection.
func ErrorFromWire(err error) *yurt.Error {
	for _, detail := range status.Convert(err).Details() {
		wire, ok := detail.(*proto.Error)
		if !ok {
			continue
		}
		code := yurt.Code(wire.GetCode())
		if !slices.Contains(yurt.Codes(), code) {
			code = yurt.CodeInternal
		}
		result := yurt.Errorf(code, "%s", text.Clean(text.Cut(wire.GetMessage(), MaxErrorBytes)))
		if field := wire.GetField(); len(field) <= MaxNameBytes && text.Printable(field) {
			result.Field = field
		}
		return result
	}
	return nil
}
