package bash

import (
	"context"
	"regexp"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of Bash.
const Version = "0.1.0"

// errorType is the type of an error that Bash itself ends a script with.
const errorType = "BashError"

// Runtime plans runs of Bash. It has no state; the zero value is ready, and safe for
// concurrent use.
type Runtime struct{}

var _ plugins.Interpreter = Runtime{}

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "bash",
		Version:    Version,
		Languages:  []string{"bash", "sh", "shell"},
		Extensions: []string{".sh", ".bash"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject, plugins.AbilityKernel},
		Tools: []yurt.Tool{{
			Name: "bash", Paths: []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"},
			Install: "install Bash, on Debian with apt-get install bash",
		}},
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that Bash can run; give %q", req.Kind, yurt.KindCode)
	}
	source, files := req.Source("main.sh")
	return plugins.Plan{
		Files:     files,
		Argv:      append([]string{req.Tools["bash"], "--", source}, req.Args...),
		Interpret: true,
	}, nil
}

// Interpret implements [plugins.Interpreter].
func (Runtime) Interpret(_ context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	return interpret(failure), nil
}

// interpret reads the last words of Bash: "main.sh: line 3: name: message". A syntax error has a
// line more, with the source. Another last line was printed by a command, and does not tell why the
// script ended.
func interpret(failure plugins.Failure) *yurt.ExecutionError {
	lines := strings.Split(strings.TrimRight(string(failure.Output), "\n"), "\n")
	spoken := regexp.MustCompile(`^(/?\S+): line (\d+): (.+)$`)
	for back := 1; back <= min(2, len(lines)); back++ {
		match := spoken.FindStringSubmatch(lines[len(lines)-back])
		if match == nil {
			return nil
		}
		message, isSource := match[3], strings.HasPrefix(match[3], "`")
		if isSource && back == 1 {
			continue
		}
		name, ok := failure.UserPath(match[1])
		if !ok {
			return nil
		}
		kind := errorType
		if strings.HasPrefix(message, "syntax error") || strings.HasPrefix(message, "unexpected EOF") {
			kind = yurt.ErrorTypeSyntax
		}
		place := name + ":" + match[2]
		return &yurt.ExecutionError{Type: kind, Message: place + ": " + message, Stacktrace: []string{place}}
	}
	return nil
}
