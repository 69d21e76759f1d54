package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/strictjson"
)

type body struct {
	Text  string            `json:"text"`
	Names map[string]string `json:"names"`
	Inner *struct {
		Text string `json:"text"`
	} `json:"inner"`
	Raw  json.RawMessage `json:"raw"`
	List []string        `json:"list"`
}

func decoder() strictjson.Decoder {
	return strictjson.Decoder{Whole: "body", KeepsNull: func(t reflect.Type) bool { return t == reflect.TypeFor[json.RawMessage]() }}
}

// TestHalfCharacters: text that is no text is refused, where it would be changed without a word.
func TestHalfCharacters(t *testing.T) {
	for text, field := range map[string]string{
		`{"text": "\ud800"}`:               "text",
		`{"text": "\udc00"}`:               "text",
		`{"text": "\ud800\ud800"}`:         "text",
		`{"text": "\ud800x\udc00"}`:        "text",
		`{"text": "\ud83d\ude00\uDFFF"}`:   "text",
		`{"text": "\\\ud800"}`:             "text",
		`{"names": {"\ud800": "x"}}`:       "names",
		`{"names": {"x": "\ud800"}}`:       "names",
		`{"inner": {"text": "\ud800"}}`:    "inner.text",
		`{"text": "\ud83d\ude00"}`:         "",
		`{"text": "\\ud800"}`:              "",
		`{"text": "\u00e9\n\ud83d\ude00"}`: "",
		`{"raw": ["\ud800"]}`:              "", // it is passed on as it is
	} {
		var into body
		err := decoder().Decode([]byte(text), &into)
		var coded *yurt.Error
		switch {
		case field == "" && err != nil:
			t.Errorf("%s: %v, expected that it is taken", text, err)
		case field != "" && (!errors.As(err, &coded) || coded.Code != yurt.CodeInvalidArgument || coded.Field != field):
			t.Errorf("%s: %v, expected an error of the field %s", text, err, field)
		}
	}
}

// TestNullsAmongTexts: a null is no text, and is not taken for an empty one.
// For JSON Schema, 88.0 and 1e2 are integers.
func TestWholeNumbers(t *testing.T) {
	var into struct {
		Count int  `json:"count"`
		Least *int `json:"least"`
	}
	if err := decoder().Decode([]byte(`{"count": 88.0, "least": 1e2}`), &into); err != nil || into.Count != 88 || *into.Least != 100 {
		t.Errorf("got %+v, %v, expected 88 and 100", into, err)
	}
	if err := decoder().Decode([]byte(`{"count": 1.5}`), &into); !strings.Contains(fmt.Sprint(err), "must be a whole number") {
		t.Errorf("1.5: %v, expected an error", err)
	}
}

func TestNullsAmongTexts(t *testing.T) {
	for text, field := range map[string]string{
		`{"names": {"a": null}}`: "names", `{"list": ["a", null]}`: "list", `{"list": [1]}`: "list", `{"names": {"a": 1}}`: "names",
		`{"names": {"a": ""}}`: "", `{"list": [""], "names": {}}`: "", `{"names": null, "list": null}`: "",
	} {
		var into body
		err := decoder().Decode([]byte(text), &into)
		var coded *yurt.Error
		switch {
		case field == "" && err != nil:
			t.Errorf("%s: %v, expected that it is taken", text, err)
		case field != "" && (!errors.As(err, &coded) || coded.Code != yurt.CodeInvalidArgument || coded.Field != field):
			t.Errorf("%s: %v, expected an error of the field %s", text, err, field)
		}
	}
}

func FuzzHalfCharacters(f *testing.F) {
	f.Add("a\\ud800b")
	f.Add("\\ud83d\\ude00")
	f.Add("\\\\u")
	f.Fuzz(func(t *testing.T, text string) {
		data := []byte(`{"text": "` + text + `"}`)
		var into body
		if err := decoder().Decode(data, &into); err == nil && strings.Contains(into.Text, "\ufffd") && !strings.Contains(strings.ToLower(text), "fffd") && !strings.Contains(text, "\ufffd") {
			t.Errorf("%q became %q without an error", data, into.Text)
		}
	})
}
