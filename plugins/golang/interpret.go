package golang

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled"
)

// Interpret implements [plugins.Interpreter].
func (Runtime) Interpret(_ context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	lines := compiled.Lines(failure.Output)
	if failure.Phase == plugins.PhaseCompile {
		list := diagnostics(lines)
		for i := range list {
			// The go command was started in the directory of the package.
			if file := list[i].File; file != "" && !path.IsAbs(file) {
				list[i].File = path.Join(path.Dir(failure.Entry), file)
			}
		}
		return compiled.CompileError(list, failure), nil
	}
	return crash(lines, failure), nil
}

// diagnostics reads the output of the go command: file:line:column: message, with lines of more
// detail that are indented.
func diagnostics(lines []string) []compiled.Diagnostic {
	var list []compiled.Diagnostic
	for _, line := range lines {
		switch d, ok := compiled.ParseLocated(line); {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t") && len(list) > 0:
			list[len(list)-1].Message += "\n" + line
		case ok:
			list = append(list, d)
		case strings.HasPrefix(line, "go: "), strings.HasPrefix(line, "package "), strings.HasPrefix(line, "main."):
			list = append(list, compiled.Diagnostic{Message: line})
		}
	}
	return list
}

// crash reads the last panic or fatal error of the Go runtime, and the stack of the
// first goroutine that is shown below it: that is the one that failed.
func crash(lines []string, failure plugins.Failure) *yurt.ExecutionError {
	start := -1
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			start = i
		}
	}
	if start < 0 {
		return nil
	}
	kind, text, _ := strings.Cut(lines[start], ": ")
	if kind == "fatal error" {
		kind = "FatalError"
	}
	end := start + 1
	for end < len(lines) && strings.TrimSpace(lines[end]) != "" && !strings.HasPrefix(lines[end], "[signal ") {
		text += "\n" + strings.TrimPrefix(lines[end], "\t")
		end++
	}
	if inner, ok := strings.CutPrefix(text, "runtime error: "); ok {
		kind, text = "RuntimeError", inner
	}
	return &yurt.ExecutionError{Type: kind, Message: text, Stacktrace: stack(lines[end:], failure)}
}

// stack returns the user's frames of the first goroutine, the outermost first, as
// "main.f (main.go:5)".
func stack(lines []string, failure plugins.Failure) []string {
	frames := []string{}
	inside := false
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "goroutine "):
			inside = true
		case inside && line == "":
			slices.Reverse(frames)
			return frames
		case inside && i > 0 && strings.HasPrefix(line, "\t"):
			at, _, _ := strings.Cut(line[1:], " ")
			file, number, _ := compiled.CutLocation(at)
			if !compiled.Users(file, failure) || number == 0 {
				continue
			}
			where := compiled.Diagnostic{File: compiled.Relative(file, failure), Line: number}
			frames = append(frames, function(lines[i-1])+" ("+where.Place()+")")
		}
	}
	slices.Reverse(frames)
	return frames
}

// function is the name in a line of a stack: the text before the arguments.
func function(line string) string {
	if name, ok := strings.CutPrefix(line, "created by "); ok {
		name, _, _ = strings.Cut(name, " in goroutine")
		return "created by " + name
	}
	if open := strings.LastIndexByte(line, '('); open > 0 {
		return line[:open]
	}
	return line
}
