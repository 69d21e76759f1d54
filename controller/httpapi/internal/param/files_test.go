package param

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
)

func TestFilesParam(t *testing.T) {
	t.Parallel()
	var got Files
	if err := got.UnmarshalJSON([]byte(`{"b/c":{"base64":"/wA="},"a":"text\u0000","d":""}`)); err != nil {
		t.Fatal(err)
	}
	want := Files{{Path: "a", Data: []byte("text\x00")}, {Path: "b/c", Data: []byte{0xff, 0}}, {Path: "d", Data: []byte{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, body := range map[string]string{
		"a list":         `[]`,
		"null":           `null`,
		"a number":       `{"a":1}`,
		"null content":   `{"a":null}`,
		"no base64":      `{"a":{}}`,
		"null base64":    `{"a":{"base64":null}}`,
		"not base64":     `{"a":{"base64":"secret!"}}`,
		"another member": `{"a":{"base64":"","more":1}}`,
	} {
		err := new(Files).UnmarshalJSON([]byte(body))
		if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the value: %v", name, err)
		}
	}
}
