package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
)

const (
	maxInline      = 32 << 10 // bytes of a stream or a value in an answer; the whole is a resource
	maxInlineImage = 4 << 20  // bytes of the images in an answer

	maxInlineImages = 20 // in an answer
)

// runOutput is the outcome of an execution.
type runOutput struct {
	SandboxID       string          `json:"sandbox_id"`
	Created         bool            `json:"created,omitempty" jsonschema:"The sandbox was made by this call."`
	ExecutionID     string          `json:"execution_id"`
	ExitCode        int             `json:"exit_code"`
	Stdout          string          `json:"stdout"`
	Stderr          string          `json:"stderr"`
	Text            string          `json:"text,omitempty" jsonschema:"The value of the last expression, as the language prints it."`
	Result          json.RawMessage `json:"result,omitempty" jsonschema:"Return value of a handler, or the value of the last expression where JSON can say the same."`
	Error           *runError       `json:"error,omitempty" jsonschema:"Why it failed."`
	Images          int             `json:"images,omitempty" jsonschema:"How many images it showed; they are in the content."`
	Resources       []resource      `json:"resources,omitempty" jsonschema:"Output that is too large for this answer, and files that it made."`
	StateLost       bool            `json:"state_lost,omitempty" jsonschema:"The interpreter ended with this execution: variables are gone."`
	KernelRestarted bool            `json:"kernel_restarted,omitempty" jsonschema:"The interpreter was a fresh one: variables from before are gone."`
	DurationMS      float64         `json:"duration_ms"`
}

type runError struct {
	Type       string   `json:"type"`
	Message    string   `json:"message"`
	Stacktrace []string `json:"stacktrace,omitempty"`
}

// resource is a link to content that an answer has no room for.
type resource struct {
	URI      string `json:"uri"`
	Name     string `json:"name" jsonschema:"stdout, stderr, result, or the path of a file."`
	MIMEType string `json:"mime_type,omitempty"`
	Size     int64  `json:"size" jsonschema:"Bytes."`
}

func (r resource) link() *sdk.ResourceLink {
	return &sdk.ResourceLink{URI: r.URI, Name: r.Name, MIMEType: r.MIMEType, Size: &r.Size}
}

func newRunOutput(ctx context.Context, e yurt.Execution) (runOutput, error) {
	result := e.Result
	out := runOutput{
		SandboxID: e.SessionID, ExecutionID: e.ID, ExitCode: result.ExitCode, DurationMS: result.Metrics.DurationMS,
	}
	if e.Kind != yurt.KindHandler { // whose interpreter has no variables of run_code
		out.StateLost, out.KernelRestarted = result.StateLost, result.KernelRestarted
	}
	var err error
	if out.Stdout, err = out.inline(ctx, partStdout, result, yurt.EventStdout); err != nil {
		return out, err
	}
	if out.Stderr, err = out.inline(ctx, partStderr, result, yurt.EventStderr); err != nil {
		return out, err
	}
	if main := result.MainDisplay; main != nil && *main < len(result.Displays) {
		out.Text = abridged(textOf(result.Displays[*main]))
	}
	if value := result.Result; len(value) > maxInline {
		out.Resources = append(out.Resources, out.part(partResult, "application/json", len(value)))
	} else if len(value) > 0 && string(value) != "null" {
		out.Result = value
	}
	if failure := result.Error; failure != nil {
		out.Error = &runError{Type: failure.Type, Message: abridged(failure.Message), Stacktrace: failure.Stacktrace}
	}
	for _, artifact := range result.Artifacts {
		out.Resources = append(out.Resources, resource{URI: fileURI(e.SessionID, artifact.Path), Name: artifact.Path, MIMEType: artifact.MIMEType, Size: artifact.Size})
	}
	return out, nil
}

// inline returns a stream as the answer has it, and adds a resource for one that is larger.
func (o *runOutput) inline(ctx context.Context, part string, result *yurt.Result, stream yurt.EventType) (string, error) {
	size := result.OutputBytes(stream)
	head, err := result.TextAt(ctx, stream, 0, maxInline)
	if err != nil || size <= maxInline {
		return strings.ToValidUTF8(head, "�"), err
	}
	o.Resources = append(o.Resources, o.part(part, "text/plain", int(size)))
	tail, err := result.TextAt(ctx, stream, size-maxInline/2, maxInline/2)
	return abridge(head[:maxInline/2], tail, size), err
}

func (o *runOutput) part(part, mimeType string, size int) resource {
	return resource{URI: executionURI(o.SandboxID, o.ExecutionID, part), Name: part, MIMEType: mimeType, Size: int64(size)}
}

// abridged returns the beginning and the end of a text that an answer has no room for.
func abridged(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxInline {
		return text
	}
	return abridge(text[:maxInline/2], text[len(text)-maxInline/2:], int64(len(text)))
}

// abridge joins the head and the tail of a text of so many bytes, without the characters that are cut.
func abridge(head, tail string, size int64) string {
	for end := len(head); end > 0 && len(head)-end < utf8.UTFMax; end-- {
		if utf8.RuneStart(head[end-1]) {
			if !utf8.FullRuneInString(head[end-1:]) {
				head = head[:end-1]
			}
			break
		}
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	left := size - int64(len(head)+len(tail))
	return strings.ToValidUTF8(head, "�") + fmt.Sprintf("\n[… %d bytes are left out here …]\n", left) + strings.ToValidUTF8(tail, "�")
}

// textOf returns the text of a display.
func textOf(display yurt.Display) string {
	var text string
	if err := json.Unmarshal(display["text/plain"], &text); err != nil {
		return "" // it has no text
	}
	return text
}

// content tells a model the outcome of an execution.
func (o *runOutput) content(result *yurt.Result) []sdk.Content {
	var parts []string
	add := func(text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			parts = append(parts, text)
		}
	}
	add(o.Stdout)
	add(o.Stderr)
	addDisplays(result, add)
	switch {
	case o.Text != "":
		add(o.Text)
	case len(o.Result) > 0:
		add(string(o.Result))
	}
	o.addFailure(add)
	for _, link := range o.Resources {
		add(fmt.Sprintf("%s: %d bytes, read the resource %s", link.Name, link.Size, link.URI))
	}
	images := o.images(result, add)
	if len(parts) == 0 && len(images) == 0 {
		parts = []string{"It ended with exit code " + strconv.Itoa(o.ExitCode) + " and no output."}
	}
	var content []sdk.Content
	if len(parts) > 0 {
		content = append(content, &sdk.TextContent{Text: strings.Join(parts, "\n")})
	}
	content = append(content, images...)
	for _, link := range o.Resources {
		content = append(content, link.link())
	}
	return content
}

// addDisplays adds the texts of the displays beside the value, as far as an answer has room for them.
func addDisplays(result *yurt.Result, add func(string)) {
	room, left := maxInline, 0
	for i, display := range result.Displays {
		if _, image := imageOf(display); image || (result.MainDisplay != nil && i == *result.MainDisplay) {
			continue
		}
		text := abridged(textOf(display))
		if room -= len(text); room < 0 {
			left++
			continue
		}
		add(text)
	}
	if left > 0 {
		add(fmt.Sprintf("%d more displays are left out; write large ones to a file and read that", left))
	}
}

func (o *runOutput) addFailure(add func(string)) {
	switch {
	case o.Error != nil && !strings.Contains(o.Stderr, o.Error.Message):
		lines := o.Error.Stacktrace
		if strings.Contains(o.Stderr, strings.Join(lines, "\n")) {
			lines = nil
		}
		add(strings.Join(append(lines[:len(lines):len(lines)], o.Error.Type+": "+o.Error.Message), "\n"))
	case o.Error == nil && o.ExitCode != 0:
		add("exit code " + strconv.Itoa(o.ExitCode))
	}
	if o.StateLost {
		add("The interpreter ended: variables and imports are gone.")
	}
	if o.KernelRestarted {
		add("The interpreter is a fresh one: variables and imports from before are gone.")
	}
}

// images returns the images that an execution showed, as far as an answer has room for them.
func (o *runOutput) images(result *yurt.Result, add func(string)) []sdk.Content {
	var (
		images []sdk.Content
		room   = maxInlineImage
	)
	for _, display := range result.Displays {
		image, is := imageOf(display)
		if !is {
			continue
		}
		o.Images++
		if room -= len(image.Data); room < 0 || len(images) == maxInlineImages {
			add(fmt.Sprintf("an image of %d bytes is left out; save it to a file and download it with download_file", len(image.Data)))
			continue
		}
		images = append(images, image)
	}
	return images
}

// imageTypeOf returns the type of an image that models can see, by its bytes, or "". A client that gets other bytes as an image loses
// the conversation: its model refuses all of it.
func imageTypeOf(data []byte) string {
	if is := http.DetectContentType(data); isImage(is) {
		return is
	}
	return ""
}

// imageOf returns the image of a display that models can see, if it has one.
func imageOf(display yurt.Display) (*sdk.ImageContent, bool) {
	for _, mimeType := range []string{"image/png", "image/jpeg", "image/webp", "image/gif"} {
		var text string
		if json.Unmarshal(display[mimeType], &text) != nil {
			continue // it has no such image
		}
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			continue
		}
		if is := imageTypeOf(data); is != "" {
			return &sdk.ImageContent{Data: data, MIMEType: is}, true
		}
	}
	return nil, false
}
