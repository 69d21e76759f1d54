package httpapi

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
	"github.com/yurtrun/yurt/controller/internal/strictjson"
	"github.com/yurtrun/yurt/internal/wholebody"
)

const (
	// maxBodyBytes bounds a JSON body: code, stdin and event at their limits, with
	// room for the escapes of JSON.
	maxBodyBytes  = 64 << 20
	bodyReadLimit = time.Minute
)

// readBody reads the body of a request, which must be of one of the types.
func readBody(ctx huma.Context, types ...string) ([]byte, error) {
	if err := checkType(ctx.Header("Content-Type"), types); err != nil {
		return nil, err
	}
	r, w := humago.Unwrap(ctx)
	// The deadline is taken back: left in force it would end a long request later. Errors are ignored: a test
	// without a connection has no deadlines.
	_ = ctx.SetReadDeadline(time.Now().Add(bodyReadLimit))
	data, err := wholebody.Read(w, r, maxBodyBytes)
	_ = ctx.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, yurt.Errorf(yurt.CodeBodyTooLarge, "the body is larger than the %s that are allowed; put large data into files", yurt.Size(maxBodyBytes))
	case err != nil:
		return nil, yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, yurt.Errorf(yurt.CodeMalformedBody, "the body is empty; send %s", types[0])
	}
	return data, nil
}

// checkType refuses a body of another type. A missing type is taken for the first. So it refuses, too, a form that
// another site's page sends without asking.
func checkType(header string, types []string) error {
	if header == "" {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err == nil && (slices.Contains(types, mediaType) || slices.Contains(types, typeJSON) && strings.HasSuffix(mediaType, "+json")) {
		return nil
	}
	return yurt.FieldErrorf(yurt.CodeMalformedBody, "Content-Type", "the body's type is not one that is read here; send Content-Type: %s", strings.Join(types, " or "))
}

// decodeStrict decodes the JSON object of a body into the struct that into points to. Its errors
// never show a value.
func decodeStrict(data []byte, into any) error {
	return strictjson.Decoder{Whole: "body", KeepsNull: param.KeepsNull}.Decode(data, into)
}
