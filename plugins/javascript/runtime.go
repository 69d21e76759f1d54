package javascript

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of Node.
const Version = "0.1.0"

const (
	defaultHandler = "handler"
	snippet        = "main.mjs" // harness.mjs knows it by that name
)

//go:embed harness.mjs
var harness []byte

//go:embed imports.mjs
var imports []byte

//go:embed outcome.mjs
var outcome []byte

//go:embed syntax.mjs
var syntax []byte

// Runtime plans runs of JavaScript. It has no state; the zero value is ready, and safe
// for concurrent use.
type Runtime struct{}

var _ plugins.Interpreter = Runtime{}

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "javascript",
		Version:    Version,
		Languages:  []string{"javascript", "js", "node", "nodejs"},
		Extensions: []string{".js", ".mjs", ".cjs"},
		Abilities:  []string{string(yurt.KindCode), string(yurt.KindHandler), plugins.AbilityKernel, plugins.AbilityCompletion, plugins.AbilityProject, plugins.AbilityWarm, plugins.AbilityDependencies},
		Tools:      []yurt.Tool{Node(), Npm()},
	}, nil
}

// Node is the tool that runs JavaScript.
func Node() yurt.Tool {
	return yurt.Tool{
		Name: "node", Paths: []string{"/usr/local/bin/node", "/usr/bin/node", "/usr/bin/nodejs"},
		Install: "install Node 18 or later, on Debian with apt-get install nodejs",
	}
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	return HarnessPlan(req, req.Entry)
}

// HarnessPlan returns the plan that runs JavaScript: the file entry, relative to
// req.Root or absolute, or the snippet in req where entry is empty. Flags are Node's.
func HarnessPlan(req plugins.PlanRequest, entry string, flags ...string) (plugins.Plan, error) {
	spec, err := newSpec(req)
	if err != nil {
		return plugins.Plan{}, err
	}
	spec.Entry = entry
	if entry != "" && MayDefine(req) {
		spec.Defines = DefinesFile(req)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return plugins.Plan{}, yurt.Errorf(yurt.CodeInternal, "writing the specification of the run: %w", err)
	}
	files := []plugins.File{
		program("harness.mjs", harness),
		{Path: "spec.json", Data: data, Mode: 0o644},
	}
	if entry == "" || spec.Defines != "" {
		files = append(files, plugins.File{Path: "syntax.mjs", Data: syntax, Mode: 0o644})
	}
	if entry == "" {
		files = append(files, plugins.File{Path: snippet, Data: []byte(req.Code), Mode: 0o644})
	}
	argv := append([]string{req.Tools["node"]}, flags...)
	return plugins.Plan{
		Files: files,
		Argv: append(argv, "--expose-internals", "--experimental-vm-modules", "--experimental-import-meta-resolve",
			path.Join(req.Dir, "harness.mjs"), path.Join(req.Dir, "spec.json")),
		Result:    plugins.ResultEnvelope,
		Interpret: true,
	}, nil
}

// program is a file with a program of ours that stands on its own.
func program(name string, text []byte) plugins.File {
	return plugins.File{Path: name, Data: slices.Concat(text, imports, outcome), Mode: 0o644}
}

// MayDefine reports whether code may define the handler that is to be called then: whether it has
// the handler's name. The harness finds out whether it really does.
func MayDefine(req plugins.PlanRequest) bool {
	return req.Kind == yurt.KindCode && req.Handler != "" && req.Entry == "" && strings.Contains(req.Code, req.Handler)
}

// DefinesFile is where a compile step leaves the code alone, as JavaScript, by which the harness
// decides whether code that was compiled to a bundle only defines things.
func DefinesFile(req plugins.PlanRequest) string { return path.Join(req.OutDir, "defines.mjs") }

// spec is the input of harness.mjs.
type spec struct {
	Kind      yurt.ExecutionKind         `json:"kind"`
	Entry     string                     `json:"entry,omitempty"`   // in place of the snippet
	Defines   string                     `json:"defines,omitempty"` // file to decide on, of code that may be a handler
	Args      []string                   `json:"args,omitempty"`
	Handler   string                     `json:"handler,omitempty"`
	Event     json.RawMessage            `json:"event,omitempty"`
	Context   map[string]json.RawMessage `json:"context,omitempty"`
	TimeoutMS int64                      `json:"timeout_ms,omitempty"`
	MaxResult int                        `json:"max_result,omitempty"`
}

func newSpec(req plugins.PlanRequest) (spec, error) {
	switch req.Kind {
	case yurt.KindCode:
		if !MayDefine(req) {
			return spec{Kind: req.Kind, Args: req.Args}, nil
		}
	case yurt.KindHandler:
	default:
		return spec{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that JavaScript can run; give %q or %q", req.Kind, yurt.KindCode, yurt.KindHandler)
	}
	event := req.Event
	if len(bytes.TrimSpace(event)) == 0 {
		event = []byte("{}")
	}
	if !utf8.Valid(event) || !json.Valid(event) {
		return spec{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "event", "the event is not valid JSON in UTF-8")
	}
	handler := req.Handler
	if handler == "" {
		handler = defaultHandler
	}
	timeout := req.Timeout.Std()
	if timeout <= 0 {
		timeout = yurt.DefaultExecutionTimeout
	}
	fields, err := contextFields(req, handler[strings.LastIndexByte(handler, '.')+1:])
	if err != nil {
		return spec{}, err
	}
	return spec{
		Kind: req.Kind, Args: req.Args, Handler: handler, Event: event, Context: fields,
		TimeoutMS: timeout.Milliseconds(), MaxResult: yurt.MaxResultBytes,
	}, nil
}
