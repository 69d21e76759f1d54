package param

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
)

// Files is the files of a project in a request: an object whose members are
// named by paths, each a text or an object with the bytes in base64.
type Files []yurt.SourceFile

// UnmarshalJSON implements json.Unmarshaler. Its errors show no content.
func (f *Files) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value must be an object: paths and, for each, the file's text")
	}
	*f = make(Files, 0, len(members))
	for _, path := range slices.Sorted(maps.Keys(members)) {
		content, err := fileContent(members[path])
		if err != nil {
			return yurt.Errorf(yurt.CodeInvalidArgument, "the file %.100q must be a string, or an object with \"base64\" alone", path)
		}
		*f = append(*f, yurt.SourceFile{Path: path, Data: content})
	}
	return nil
}

func fileContent(data []byte) ([]byte, error) {
	var text *string
	if err := json.Unmarshal(data, &text); err == nil && text != nil {
		return []byte(*text), nil
	}
	var encoded struct {
		Base64 *string `json:"base64"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&encoded); err != nil {
		return nil, err
	}
	if encoded.Base64 == nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "there is no base64")
	}
	return base64.StdEncoding.DecodeString(*encoded.Base64)
}

// Schema implements huma.SchemaProvider.
func (Files) Schema(huma.Registry) *huma.Schema {
	encoded := &huma.Schema{Type: huma.TypeString, ContentEncoding: "base64", Pattern: bounds.Base64, Description: "bytes in base64"}
	return &huma.Schema{
		Type:        huma.TypeObject,
		Description: "Files of a project by path. They are written to the working directory first and stay there.",
		AdditionalProperties: &huma.Schema{OneOf: []*huma.Schema{
			{Type: huma.TypeString, Description: "text"},
			{
				Type: huma.TypeObject, Properties: map[string]*huma.Schema{"base64": encoded},
				Required: []string{"base64"}, AdditionalProperties: false,
			},
		}},
		Examples: []any{map[string]any{"main.py": "import lib; print(lib.answer)", "lib.py": "answer = 42"}},
	}
}
