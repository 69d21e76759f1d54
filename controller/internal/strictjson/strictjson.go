// Package strictjson decodes JSON objects of clients into structs. It refuses every member
// that the struct has no place for. Its errors name the field, say which values are allowed, and never show one.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/suggest"
	"github.com/yurtrun/yurt/internal/wholenumber"
)

// Decoder decodes the objects that one kind of client sends.
type Decoder struct {
	// Whole is the name of the object in errors, such as "body".
	Whole string
	// KeepsNull reports whether null is a value of a field of that type, and not as if the field were
	// not there. With nil there is no such type.
	KeepsNull func(reflect.Type) bool
}

// Decode decodes a JSON object into the struct that into points to. Unlike
// encoding/json it refuses unknown and repeated fields, matches names exactly and
// says where an error is. Its errors never show a value.
func (d Decoder) Decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return yurt.Errorf(yurt.CodeMalformedBody, "the %s is not UTF-8", d.Whole)
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		line, column := place(data, syntax.Offset)
		return yurt.Errorf(yurt.CodeMalformedBody, "the %s is not JSON: %s, at line %d, column %d", d.Whole, describe(syntax), line, column)
	} else if err != nil {
		return d.notJSON()
	}
	return d.object(data, reflect.ValueOf(into).Elem(), "")
}

// describe describes a syntax error without the offending character.
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

// object decodes valid JSON into a struct, member by member.
func (d Decoder) object(data []byte, into reflect.Value, path string) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return d.wrongType(path, "an object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return d.notJSON()
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
			return d.notJSON()
		}
		if err := d.member(raw, field, member); err != nil {
			return err
		}
	}
	return nil
}

func (d Decoder) member(raw json.RawMessage, into reflect.Value, path string) error {
	if string(raw) == "null" && (d.KeepsNull == nil || !d.KeepsNull(into.Type())) {
		return nil // as if it were not there; but null is a JSON value like others
	}
	if into.Kind() == reflect.Pointer && into.Type().Elem().Kind() == reflect.Struct {
		value := reflect.New(into.Type().Elem())
		into.Set(value)
		return d.member(raw, value.Elem(), path)
	}
	if into.Kind() == reflect.Struct && !reflect.PointerTo(into.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return d.object(raw, into, path)
	}
	if err := d.changed(raw, into.Type(), path); err != nil {
		return err
	}
	if typeName(into.Type()) == wholeNumber {
		raw = wholenumber.Plain(raw)
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
		return d.wrongType(path, typeName(into.Type()))
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "the value cannot be read")
	}
}

// changed refuses a value that package encoding/json would change without a word.
func (d Decoder) changed(raw json.RawMessage, t reflect.Type, path string) error {
	if verbatim := d.KeepsNull != nil && d.KeepsNull(t); !verbatim && loneSurrogate(raw) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "the value holds an escape \\ud800 to \\udfff without its other half, which is no character; give text in Unicode")
	}
	if holdsNull(raw, t) {
		return d.wrongType(path, typeName(t))
	}
	return nil
}

// holdsNull reports whether there is a null among the texts of an array or an object. Package encoding/json would make it an empty text.
func holdsNull(data []byte, t reflect.Type) bool {
	null := func(text *string) bool { return text == nil }
	switch {
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String:
		var texts map[string]*string
		return json.Unmarshal(data, &texts) == nil && slices.ContainsFunc(slices.Collect(maps.Values(texts)), null)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		var texts []*string
		return json.Unmarshal(data, &texts) == nil && slices.ContainsFunc(texts, null)
	default:
		return false
	}
}

// loneSurrogate reports whether valid JSON escapes half of a character. Package encoding/json would put another character there
// without a word.
func loneSurrogate(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 {
			return false
		}
		if data = data[at+1:]; data[0] != 'u' {
			data = data[1:]
			continue
		}
		first, ok := surrogate(data)
		data = data[5:]
		switch {
		case !ok:
			continue
		case first >= lowSurrogates || len(data) < 6 || data[0] != '\\' || data[1] != 'u':
			return true
		}
		second, ok := surrogate(data[1:])
		if !ok || second < lowSurrogates {
			return true
		}
		data = data[6:]
	}
}

// lowSurrogates is the first of the codes that are the second half of a character.
const lowSurrogates = 0xdc00

// surrogate reads an escape, from its letter u on; ok says that it is half of a character.
func surrogate(escape []byte) (code uint64, ok bool) {
	code, err := strconv.ParseUint(string(escape[1:5]), 16, 32)
	return code, err == nil && utf16.IsSurrogate(rune(code)) //nolint:gosec // it has 16 bits
}

func (d Decoder) notJSON() error {
	return yurt.Errorf(yurt.CodeMalformedBody, "the %s is not JSON", d.Whole)
}

func (d Decoder) wrongType(path, want string) error {
	if path == "" {
		return yurt.Errorf(yurt.CodeMalformedBody, "the %s must be %s", d.Whole, want)
	}
	return yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "the value must be %s", want)
}

const wholeNumber = "a whole number"

// typeName names, in the words of JSON, the type of value that a Go type is decoded from.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint16:
		return wholeNumber
	case reflect.Float64:
		return "a number"
	case reflect.Map:
		return "an object with strings as values"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "an array of strings"
		}
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
