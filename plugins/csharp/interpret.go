package csharp

import (
	"context"
	"slices"
	"strconv"
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
		said := compiled.CompileError(list, failure)
		if hint := hintFor(lines, list); hint != "" {
			said.Message += "; " + hint
		}
		return said, nil
	}
	return uncaught(lines, failure), nil
}

// diagnostics reads "file(line,column): error CS0103: message", and errors of no file.
func diagnostics(lines []string) []compiled.Diagnostic {
	var list []compiled.Diagnostic
	for _, line := range lines {
		at, message, ok := strings.Cut(line, "error CS")
		if !ok || at != "" && !strings.HasSuffix(at, "): ") {
			continue
		}
		number, message, ok := strings.Cut(message, ": ")
		if !ok {
			continue
		}
		d := compiled.Diagnostic{Message: message + " [CS" + number + "]"}
		if open := strings.LastIndexByte(at, '('); open >= 0 {
			d.File = at[:open]
			first, second, _ := strings.Cut(strings.TrimSuffix(at[open+1:], "): "), ",")
			d.Line, d.Column = atoi(first), atoi(second)
		}
		list = append(list, d)
	}
	return list
}

func atoi(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		return 0
	}
	return number
}

// uncaught reads the last exception that Mono reports.
func uncaught(lines []string, failure plugins.Failure) *yurt.ExecutionError {
	for i := len(lines) - 1; i >= 0; i-- {
		text, ok := strings.CutPrefix(lines[i], "[ERROR] FATAL UNHANDLED EXCEPTION: ")
		if !ok {
			continue
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "  at ") && lines[end] != "" {
			text += "\n" + lines[end]
			end++
		}
		text, _, _ = strings.Cut(text, " ---> ")
		kind, message, _ := strings.Cut(text, ": ")
		if kind == "" { // the program wrote it
			return nil
		}
		return &yurt.ExecutionError{Type: kind, Message: message, Stacktrace: stack(lines[end:], failure)}
	}
	return nil
}

// stack returns the user's frames, the outermost first, as "P.Main (System.String[] a) (main.cs:12)".
func stack(lines []string, failure plugins.Failure) []string {
	frames := []string{}
	for _, line := range lines {
		frame, ok := strings.CutPrefix(line, "  at ")
		if !ok {
			continue
		}
		call, at, ok := strings.Cut(frame, " in ")
		file, number, _ := compiled.CutLocation(strings.TrimSpace(at))
		if !ok || number == 0 || !compiled.Users(file, failure) {
			continue
		}
		if offset := strings.LastIndex(call, " ["); offset > 0 {
			call = call[:offset]
		}
		where := compiled.Diagnostic{File: compiled.Relative(file, failure), Line: number}
		frames = append(frames, call+" ("+where.Place()+")")
	}
	slices.Reverse(frames)
	return frames
}
