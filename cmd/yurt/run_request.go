package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/hcl"
)

// defaultHandler is the function that is called when no other is named.
const defaultHandler = "handler"

// runRequest is the request of yurt run, read and checked as far as that goes without a node.
type runRequest struct {
	extension string      // of the file, with its dot
	language  string      // as given, or ""
	template  string      // as given, or ""
	parser    *hcl.Parser // of the file that defines the template
	timeout   yurt.Duration
	function  *function          // the function for a runtime client; nil unless there is one
	spec      yurt.ExecutionSpec // lacks the settings of the template and the runtimes
}

func (a *app) readRun(file string, f runFlags) (runRequest, error) {
	request := runRequest{
		language: f.language, template: f.template,
		spec: yurt.ExecutionSpec{ID: yurt.NewExecutionID(), Kind: yurt.KindCode, Args: f.args, Dependencies: f.dependencies},
	}
	if f.clientGiven {
		if err := a.readFunction(&request, file, f); err != nil {
			return request, err
		}
	} else if err := a.readCode(&request, file, f); err != nil {
		return request, err
	}
	var err error
	if request.parser, err = f.parser(a); err != nil {
		return request, err
	}
	if f.timeout != "" {
		if request.timeout, err = yurt.ParseDuration(f.timeout); err != nil {
			return request, yurt.FieldErrorf(yurt.CodeOf(err), "--timeout", "%w", err)
		}
		if request.timeout == 0 { // which is the template's, further on
			return request, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--timeout", "0s is out of range; leave it out for the template's")
		}
	}
	request.spec.Env, err = a.ParseEnv(f.env)
	return request, err
}

// readCode makes the request that of source code: of a script, or of a handler in it.
func (a *app) readCode(request *runRequest, file string, f runFlags) error {
	source, err := a.ReadSource(file, f.entry)
	if err != nil {
		return err
	}
	request.extension = strings.ToLower(filepath.Ext(source.Name))
	request.spec.Code, request.spec.Files, request.spec.Entry = source.Code, source.Files, source.Entry
	if f.handlerGiven && f.handler == "" {
		return nil
	}
	if !f.eventGiven && f.handler == "" && !definesHandler(source.Text()) {
		if source.Code != "" {
			request.spec.Handler = defaultHandler // which is called if the code only defines it
		}
		return nil
	}
	return a.readHandler(&request.spec, f)
}

// readHandler makes spec the call of a handler.
func (a *app) readHandler(spec *yurt.ExecutionSpec, f runFlags) error {
	spec.Kind, spec.Handler, spec.Event = yurt.KindHandler, f.handler, json.RawMessage("{}")
	if spec.Handler == "" {
		spec.Handler = defaultHandler
	}
	if f.eventGiven {
		var err error
		if spec.Event, err = a.ReadEvent(f.event); err != nil {
			return err
		}
	}
	if f.context == "" {
		return nil
	}
	fields, err := a.ReadValue(f.context, yurt.MaxEventBytes)
	if err != nil {
		return err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(fields, &object); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--context", "this is not a JSON object; give one such as '{\"function_name\": \"hello\"}', or @FILE")
	}
	spec.Context = fields
	return nil
}

// definesHandler reports whether source text seems to define the default handler
// at its top level. It looks at lines alone, in the ways that the languages with
// handlers write it; --handler settles it where that is not enough.
func definesHandler(code string) bool {
	return regexp.MustCompile(`(?m)^(` +
		`(async\s+)?def\s+handler\s*\(|` + // Python
		`handler\s*(:[^=\n]+)?=[^=]|` +
		`from\s+\S+\s+import\s+(.*\W)?handler\s*$|` +
		`(module\.)?exports\.handler\s*=|` + // JavaScript
		`export\s+(async\s+)?(function|const|let)\s+handler\b` +
		`)`).MatchString(code)
}

// runNode is the part of a node that yurt run uses.
type runNode interface {
	Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error)
	CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error)
	DestroySandbox(ctx context.Context, sandboxID string) error
	UnpackFiles(ctx context.Context, sandboxID, path string, archive io.Reader) (yurt.Unpacked, error)
	StartAttached(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio executor.Stdio) error
	WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error
}

// complete fills in the settings of the installed runtimes and the templates.
func (r runRequest) complete(ctx context.Context, node runNode) (yurt.Template, yurt.ExecutionSpec, error) {
	spec := r.spec
	runtimes, err := node.Runtimes(ctx)
	if err != nil {
		return yurt.Template{}, spec, err
	}
	runtime, err := r.runtime(runtimes)
	if err != nil {
		return yurt.Template{}, spec, err
	}
	template, err := cli.FindTemplate(r.templateFor(runtime), runtime.Name, r.parser)
	if err != nil {
		return yurt.Template{}, spec, err
	}
	limits := template.Session
	spec.Language = cmp.Or(r.language, runtime.Name)
	spec.OutputLimit = limits.OutputLimit
	spec.Timeout = limits.ExecutionTimeout
	if r.timeout != 0 {
		spec.Timeout = r.timeout
	}
	if err := spec.TakeEventTimeout(); err != nil {
		return template, spec, err
	}
	return template, spec, spec.Validate()
}

// runtime finds the runtime of the language, by name or by extension. A function whose language is
// unknown needs no runtime, unless packages are to be installed for it.
func (r runRequest) runtime(runtimes []yurt.RuntimeInfo) (yurt.RuntimeInfo, error) {
	var known []string
	for _, runtime := range runtimes {
		known = append(known, runtime.Name)
		byName := slices.Contains(runtime.Languages, r.language) || runtime.Name == r.language
		if byName || r.language == "" && r.hasExtension(runtime.Extensions) {
			return runtime, nil
		}
	}
	have := "no language runtime is installed"
	if len(known) > 0 {
		have = "installed are " + strings.Join(known, ", ")
	}
	switch {
	case r.language != "":
		return yurt.RuntimeInfo{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "--language", "there is no runtime for %q (%s)", r.language, have)
	case r.function == nil:
		return yurt.RuntimeInfo{}, yurt.Errorf(yurt.CodeLanguageNotSupported,
			"the extension %q says nothing about the language; give --language (%s)", r.extension, have)
	case len(r.spec.Dependencies) > 0:
		return yurt.RuntimeInfo{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "--language", "say of which language the packages of --dep are (%s)", have)
	}
	return yurt.RuntimeInfo{}, nil
}

func (r runRequest) hasExtension(extensions []string) bool {
	if r.function != nil {
		return r.function.isIn(extensions, r.spec.Handler)
	}
	return slices.Contains(extensions, r.extension)
}

// templateFor is the name of the template, and "" where that of the runtime's language will do.
func (r runRequest) templateFor(runtime yurt.RuntimeInfo) string {
	if r.template == "" && runtime.Name == "" {
		return clientTemplate
	}
	return r.template
}
