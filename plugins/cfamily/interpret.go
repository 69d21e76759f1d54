package cfamily

import (
	"context"
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

// diagnostics reads "file:line:column: error: message", and the linker's undefined references.
func diagnostics(lines []string) []compiled.Diagnostic {
	var list []compiled.Diagnostic
	for _, line := range lines {
		if d, ok := compiled.ParseLocated(line); ok {
			for _, kind := range []string{"error: ", "fatal error: "} {
				if message, ok := strings.CutPrefix(d.Message, kind); ok {
					d.Message = message
					list = append(list, d)
				}
			}
			continue
		}
		if at, message, ok := linker(line); ok {
			list = append(list, compiled.Diagnostic{File: at, Message: message})
		}
	}
	return list
}

// linker reads "file.c:(.text+0x5): undefined reference to `f'".
func linker(line string) (file, message string, ok bool) {
	for _, mark := range []string{"undefined reference to ", "multiple definition of "} {
		if i := strings.Index(line, mark); i >= 0 {
			file, _, _ = strings.Cut(strings.TrimPrefix(line, "/usr/bin/ld: "), ":")
			return file, line[i:], true
		}
	}
	return "", "", false
}

// crash reads the messages that the C++ and C libraries print before they abort a program.
func crash(lines []string, failure plugins.Failure) *yurt.ExecutionError {
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		if kind, ok := strings.CutPrefix(line, "terminate called after throwing an instance of '"); ok {
			found := &yurt.ExecutionError{Type: strings.TrimSuffix(kind, "'"), Message: "it was thrown and not caught", Stacktrace: []string{}}
			if what, ok := strings.CutPrefix(strings.Join(lines[i+1:], "\n"), "  what():  "); ok {
				found.Message = strings.TrimRight(what, "\n")
			}
			return found
		}
		if found := assertion(line, failure); found != nil {
			return found
		}
		if strings.HasPrefix(line, "*** ") && strings.Contains(line, " ***") {
			return &yurt.ExecutionError{Type: "Aborted", Message: strings.Trim(line, "* "), Stacktrace: []string{}}
		}
	}
	return nil
}

// assertion reads "main: main.c:5: main: Assertion `c == 7' failed."
func assertion(line string, failure plugins.Failure) *yurt.ExecutionError {
	at, rest, ok := strings.Cut(line, ": Assertion `")
	if !ok || !strings.HasSuffix(rest, "' failed.") {
		return nil
	}
	_, at, _ = strings.Cut(at, ": ")
	d, ok := compiled.ParseLocated(at)
	if !ok {
		return nil
	}
	d.File = compiled.Relative(d.File, failure)
	return &yurt.ExecutionError{
		Type: "Assertion", Message: strings.TrimSuffix(rest, "' failed."),
		Stacktrace: []string{d.Message + " (" + compiled.Diagnostic{File: d.File, Line: d.Line}.Place() + ")"},
	}
}
