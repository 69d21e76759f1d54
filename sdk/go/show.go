package yurtclient

import (
	"encoding/base64"
	"encoding/json"

	"github.com/yurtrun/yurt"
)

// Text returns the value of the last expression of code as its language would show it, or "" if there is no such value.
func Text(result *yurt.Result) string {
	var text string
	if main := result.MainDisplay; main != nil && *main < len(result.Displays) {
		text, _ = textOf(result.Displays[*main], "text/plain")
	}
	return text
}

// PNG returns the picture that code showed as the value of its last expression, or else the first that it showed, or nil if it
// showed no picture.
func PNG(result *yurt.Result) []byte {
	displays := result.Displays
	if main := result.MainDisplay; main != nil && *main < len(displays) {
		displays = append([]yurt.Display{displays[*main]}, displays...)
	}
	for _, display := range displays {
		if text, is := textOf(display, "image/png"); is {
			if data, err := base64.StdEncoding.DecodeString(text); err == nil {
				return data
			}
		}
	}
	return nil
}

// textOf returns a type of a display that is a JSON string, and reports whether it has it.
func textOf(display yurt.Display, mimeType string) (string, bool) {
	var text string
	data, is := display[mimeType]
	if !is || json.Unmarshal(data, &text) != nil {
		return "", false
	}
	return text, true
}
