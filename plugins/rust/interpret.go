package rust

import (
	"context"
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
		return compiled.CompileError(diagnostics(lines), failure), nil
	}
	return crash(lines, failure), nil
}

// diagnostics reads rustc's errors: "error[E0425]: message", then " --> file:line:column".
func diagnostics(lines []string) []compiled.Diagnostic {
	var list []compiled.Diagnostic
	located := true // whether the last error has its place
	for _, line := range lines {
		if message, ok := errorMessage(line); ok {
			if !summary(message) {
				list = append(list, compiled.Diagnostic{Message: message})
				located = false
			}
			continue
		}
		if _, at, ok := strings.Cut(line, "--> "); ok && !located {
			last := &list[len(list)-1]
			last.File, last.Line, last.Column = compiled.CutLocation(strings.TrimSpace(at))
			located = true
		}
		located = located || strings.HasPrefix(line, "warning")
	}
	return list
}

func errorMessage(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "error")
	if !ok {
		return "", false
	}
	code := ""
	if end := strings.IndexByte(rest, ']'); strings.HasPrefix(rest, "[") && end > 0 {
		code, rest = " "+rest[:end+1], rest[end+1:]
	}
	message, ok := strings.CutPrefix(rest, ": ")
	return message + code, ok
}

// summary reports whether the message is about the other errors.
func summary(message string) bool {
	return strings.HasPrefix(message, "aborting due to ") || strings.HasPrefix(message, "could not compile ")
}

// crash reads the last panic, or the error that main returned.
func crash(lines []string, failure plugins.Failure) *yurt.ExecutionError {
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		if !strings.HasPrefix(line, "thread '") {
			continue
		}
		if _, what, ok := strings.Cut(line, " panicked at "); ok {
			return panicked(what, lines[i+1:], failure)
		}
		if strings.HasSuffix(line, " has overflowed its stack") {
			return &yurt.ExecutionError{Type: "StackOverflow", Message: line, Stacktrace: []string{}}
		}
	}
	if message, ok := lastError(lines); ok && failure.ExitCode == 1 {
		return &yurt.ExecutionError{Type: "Error", Message: message, Stacktrace: []string{}}
	}
	return nil
}

// panicked reads the text after "panicked at": since Rust 1.73 the place, and the message on the
// lines below; before that the message in quotes, and the place.
func panicked(what string, rest []string, failure plugins.Failure) *yurt.ExecutionError {
	end := 0
	for end < len(rest) && rest[end] != "stack backtrace:" && !strings.HasPrefix(rest[end], "note: ") {
		end++
	}
	message := strings.Join(rest[:end], "\n")
	if place, ok := strings.CutSuffix(what, ":"); ok && !strings.HasPrefix(what, "'") {
		what = place
	} else {
		whole := strings.TrimRight(strings.Join(append([]string{what}, rest[:end]...), "\n"), "\n")
		cut := strings.LastIndex(whole, "', ")
		if cut > 0 {
			message, what = whole[1:cut], whole[cut+3:]
		}
	}
	frames := stack(rest[end:], failure)
	if len(frames) == 0 {
		file, line, column := compiled.CutLocation(what)
		frames = append(frames, compiled.Diagnostic{File: compiled.Relative(file, failure), Line: line, Column: column}.Place())
	}
	return &yurt.ExecutionError{Type: "panic", Message: strings.TrimRight(message, "\n"), Stacktrace: frames}
}

// stack returns the user's frames, the outermost first, as "main::f (main.rs:2:58)".
func stack(lines []string, failure plugins.Failure) []string {
	frames := []string{}
	for i, line := range lines {
		if strings.Contains(line, "__rust_begin_short_backtrace") {
			break // below are the callers of main
		}
		at, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "at ")
		if !ok || i == 0 {
			continue
		}
		file, number, column := compiled.CutLocation(at)
		if !compiled.Users(file, failure) || number == 0 {
			continue
		}
		name := function(lines[i-1])
		where := compiled.Diagnostic{File: compiled.Relative(file, failure), Line: number, Column: column}
		frames = append(frames, name+" ("+where.Place()+")")
	}
	slices.Reverse(frames)
	return frames
}

// function is the name in "  14:     0x565058792c3e - main::f::hff2eb537b094a12b", less
// its address and its hash.
func function(line string) string {
	_, name, _ := strings.Cut(line, ": ")
	if _, rest, ok := strings.Cut(name, " - "); ok {
		name = rest
	}
	name = strings.TrimSpace(name)
	if i := strings.LastIndex(name, "::h"); i > 0 && len(name)-i == len("::h")+16 {
		name = name[:i]
	}
	return name
}

func lastError(lines []string) (string, bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		if message, ok := strings.CutPrefix(lines[i], "Error: "); ok {
			return strings.TrimRight(strings.Join(append([]string{message}, lines[i+1:]...), "\n"), "\n"), true
		}
	}
	return "", false
}
