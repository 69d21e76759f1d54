package python

import (
	"bytes"
	"cmp"
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

// Version is the version of this runtime, not of Python.
const Version = "0.1.0"

const (
	tool               = "python3"
	defaultInterpreter = "/usr/bin/python3"
	defaultHandler     = "handler"
)

//go:embed shared.py
var shared []byte

//go:embed harness.py
var harness []byte

//go:embed handler.py
var handlers []byte

//go:embed defines.py
var defines []byte

//go:embed report.py
var report []byte

// Runtime plans runs of Python. It has no state; the zero value is ready, and safe
// for concurrent use.
type Runtime struct{}

var _ plugins.Runtime = Runtime{}

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "python",
		Version:    Version,
		Languages:  []string{"python", "py", "python3"},
		Extensions: []string{".py"},
		Abilities:  []string{string(yurt.KindCode), string(yurt.KindHandler), plugins.AbilityProject, plugins.AbilityKernel, plugins.AbilityCompletion, plugins.AbilityZygote, plugins.AbilityWarm, plugins.AbilityDependencies},
		Tools: []yurt.Tool{
			{
				Name: tool, Paths: []string{defaultInterpreter, "/usr/local/bin/python3"},
				Install: "install Python 3.8 or later, on Debian with apt-get install python3",
			},
			{
				Name: pip, Paths: []string{"/usr/bin/pip3", "/usr/local/bin/pip3", "/usr/bin/pip", "/usr/local/bin/pip"},
				Install: "install pip, on Debian with apt-get install python3-pip", Optional: true,
			},
		},
		Kernels: []string{ipython, ipykernel},
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	spec, err := newSpec(req)
	if err != nil {
		return plugins.Plan{}, err
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return plugins.Plan{}, yurt.Errorf(yurt.CodeInternal, "writing the specification of the run: %w", err)
	}
	files := []plugins.File{
		program("harness.py", handlers, harness),
		{Path: "report.py", Data: report, Mode: 0o644},
		{Path: "main.py", Data: []byte(req.Code), Mode: 0o644},
		{Path: "spec.json", Data: data, Mode: 0o644},
	}
	if mayDefine(req) {
		files = append(files, plugins.File{Path: "defines.py", Data: defines, Mode: 0o644})
	}
	return plugins.Plan{
		Files: files,
		Argv:  []string{cmp.Or(req.Tools[tool], defaultInterpreter), path.Join(req.Dir, "harness.py"), path.Join(req.Dir, "spec.json")},
		// In the environment rather than in argv, so that Python processes that the
		// code starts have the same, and that a user can ask for something else.
		Env: map[string]string{
			"PYTHONUNBUFFERED": "1", // output appears at once, and is kept when a timeout ends the run
			"PYTHONUTF8":       "1", // in any locale
		},
		Result: plugins.ResultEnvelope,
	}, nil
}

// program is a file with a program of ours that stands on its own.
func program(name string, texts ...[]byte) plugins.File {
	return plugins.File{Path: name, Data: slices.Concat(shared, slices.Concat(texts...)), Mode: 0o644}
}

// mayDefine reports whether code may define the handler that is to be called then: whether it has
// the handler's name. The harness finds out whether it really does.
func mayDefine(req plugins.PlanRequest) bool {
	return req.Kind == yurt.KindCode && req.Handler != "" && req.Entry == "" && strings.Contains(req.Code, req.Handler)
}

// spec is the input of harness.py.
type spec struct {
	Kind      yurt.ExecutionKind `json:"kind"`
	Entry     string             `json:"entry,omitempty"` // in place of main.py, in the working directory
	Args      []string           `json:"args,omitempty"`
	Handler   string             `json:"handler,omitempty"`
	Event     json.RawMessage    `json:"event,omitempty"`
	Context   map[string]any     `json:"context,omitempty"`
	Timeout   float64            `json:"timeout,omitempty"` // seconds
	MaxResult int                `json:"max_result,omitempty"`
}

func newSpec(req plugins.PlanRequest) (spec, error) {
	switch req.Kind {
	case yurt.KindCode:
		if !mayDefine(req) {
			return spec{Kind: req.Kind, Entry: req.Entry, Args: req.Args}, nil
		}
	case yurt.KindHandler:
	default:
		return spec{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that Python can run; give %q or %q", req.Kind, yurt.KindCode, yurt.KindHandler)
	}
	event, err := compactEvent(req.Event)
	if err != nil {
		return spec{}, err
	}
	handler := req.Handler
	if handler == "" {
		handler = defaultHandler
	}
	timeout := req.Timeout.Std()
	if timeout <= 0 {
		timeout = yurt.DefaultExecutionTimeout
	}
	fields, err := contextFields(req, handler)
	if err != nil {
		return spec{}, err
	}
	return spec{
		Kind:      req.Kind,
		Entry:     req.Entry,
		Args:      req.Args,
		Handler:   handler,
		Event:     event,
		Context:   fields,
		Timeout:   timeout.Seconds(),
		MaxResult: yurt.MaxResultBytes,
	}, nil
}

// compactEvent returns the event without white space; no event is an empty object.
func compactEvent(event []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(event)) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !utf8.Valid(event) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "event", "the event is not UTF-8, as JSON must be")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, event); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "event", "the event is not valid JSON: %w", err)
	}
	return compact.Bytes(), nil
}
