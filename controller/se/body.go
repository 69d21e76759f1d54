package se

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"reflect"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/strictjson"
	"github.com/yurtrun/yurt/internal/wholebody"
)

// maxBody bounds a JSON body, in bytes, as that of the API of Yurt is.
const maxBody = 64 << 20

// decode reads the JSON body of a request into a struct. A body that may be left out is then empty.
func decode(r *http.Request, into any, optional bool) error {
	data, err := wholebody.Read(nil, r, maxBody)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return yurt.Errorf(yurt.CodeBodyTooLarge, "the body is larger than the %s that are allowed; put large data into files", yurt.Size(maxBody))
	case err != nil:
		return yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole")
	case len(bytes.TrimSpace(data)) == 0 && optional:
		return nil
	}
	// A form on another site's page can send other types without being asked.
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return yurt.FieldErrorf(yurt.CodeMalformedBody, "Content-Type", "the body's type is not one that is read here; send Content-Type: application/json")
	}
	decoder := strictjson.Decoder{Whole: "body", KeepsNull: func(t reflect.Type) bool { return t == reflect.TypeFor[json.RawMessage]() }}
	return decoder.Decode(data, into)
}

// duration is a number of seconds, or text. Its error does not show the value.
type duration yurt.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(data []byte) error {
	if err := (*yurt.Duration)(d).UnmarshalJSON(data); err != nil {
		return yurt.Errorf(yurt.CodeOf(err), "the value is not a duration; give seconds")
	}
	return nil
}
