package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/suggest"
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
	// The deadline is taken back: left in force it would end a long request later.
	// Where none can be set, as in a test without a connection, none is needed.
	_ = ctx.SetReadDeadline(time.Now().Add(bodyReadLimit))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
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

// checkType refuses a body of another type. None at all is taken for the first. What
// a form on another site's page can send without being asked is thus refused too.
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

// decodeStrict decodes a JSON object into the struct that into points to. Unlike
// encoding/json it refuses unknown and repeated fields, matches names exactly and
// says where an error is. Its errors never show a value.
func decodeStrict(data []byte, into any) error {
	if !utf8.Valid(data) {
		return yurt.Errorf(yurt.CodeMalformedBody, "the body is not UTF-8")
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		line, column := place(data, syntax.Offset)
		return yurt.Errorf(yurt.CodeMalformedBody, "the body is not JSON: %s, at line %d, column %d", describe(syntax), line, column)
	} else if err != nil {
		return yurt.Errorf(yurt.CodeMalformedBody, "the body is not JSON")
	}
	return decodeObject(data, reflect.ValueOf(into).Elem(), "")
}

// describe says what is wrong with the syntax, without the character that is.
func describe(err *json.SyntaxError) string {
	if strings.HasPrefix(err.Error(), "unexpected end") {
		return "it ends too early"
	}
	return "there is a character that does not belong"
}

// place turns an offset behind a byte into a line and a column that count from 1.
func place(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// decodeObject decodes valid JSON into a struct, member by member.
func decodeObject(data []byte, into reflect.Value, path string) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return wrongType(path, "an object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return yurt.Errorf(yurt.CodeMalformedBody, "the body is not JSON")
		}
		name, _ := token.(string)
		field, ok := fieldByName(into, name)
		member := strings.TrimPrefix(path+"."+name, ".")
		if !ok {
			return unknownField(into.Type(), path, name)
		}
		if seen[name] {
			return yurt.FieldErrorf(yurt.CodeMalformedBody, member, "the field is given twice")
		}
		seen[name] = true
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return yurt.Errorf(yurt.CodeMalformedBody, "the body is not JSON")
		}
		if err := decodeMember(raw, field, member); err != nil {
			return err
		}
	}
	return nil
}

func decodeMember(raw json.RawMessage, into reflect.Value, path string) error {
	if string(raw) == "null" && !keepsNull(into.Type()) {
		return nil // as if it were not there; but null is a JSON value like others
	}
	if into.Kind() == reflect.Pointer && into.Type().Elem().Kind() == reflect.Struct {
		value := reflect.New(into.Type().Elem())
		into.Set(value)
		return decodeMember(raw, value.Elem(), path)
	}
	if into.Kind() == reflect.Struct && !reflect.PointerTo(into.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return decodeObject(raw, into, path)
	}
	err := json.Unmarshal(raw, into.Addr().Interface())
	var (
		coded    *yurt.Error
		mismatch *json.UnmarshalTypeError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return yurt.FieldErrorf(coded.Code, path, "%s", coded.Message)
	case errors.As(err, &mismatch):
		return wrongType(path, typeName(into.Type()))
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "the value cannot be read")
	}
}

func wrongType(path, want string) error {
	if path == "" {
		return yurt.Errorf(yurt.CodeMalformedBody, "the body must be %s", want)
	}
	return yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "the value must be %s", want)
}

// typeName says in the words of JSON what a Go type is decoded from.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint16:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Map:
		return "an object with strings as values"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

// fieldByName returns the field of a struct that JSON calls by name.
func fieldByName(of reflect.Value, name string) (reflect.Value, bool) {
	for i := range of.NumField() {
		if jsonName(of.Type().Field(i)) == name {
			return of.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// unknownField names the field that does not exist, as far as that is decent, and
// the one that was probably meant.
func unknownField(t reflect.Type, path, name string) error {
	var names []string
	for i := range t.NumField() {
		names = append(names, jsonName(t.Field(i)))
	}
	hint := "the fields are " + strings.Join(names, ", ")
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean \"" + near + "\"?"
	}
	if len(name) > yurt.MaxNameBytes {
		name = name[:yurt.MaxNameBytes]
	}
	member := strings.TrimPrefix(path+"."+strings.ToValidUTF8(name, ""), ".")
	return yurt.FieldErrorf(yurt.CodeUnknownField, member, "there is no field %q; %s", member, hint)
}
