package csharp

import (
	"context"
	"regexp"
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

// uncaught reads the last exception that Mono or .NET reports.
func uncaught(lines []string, failure plugins.Failure) *yurt.ExecutionError {
	for i := len(lines) - 1; i >= 0; i-- {
		text, ok := strings.CutPrefix(lines[i], "[ERROR] FATAL UNHANDLED EXCEPTION: ")
		if !ok {
			text, ok = strings.CutPrefix(lines[i], "Unhandled exception. ")
		}
		switch {
		case ok:
			return exception(text, lines[i+1:], failure)
		case lines[i] == "Stack overflow.", lines[i] == "Stack overflow":
			return stackOverflow()
		case lines[i] == "Out of memory.":
			return exception("System.OutOfMemoryException: Exception of type 'System.OutOfMemoryException' was thrown.", lines[i+1:], failure)
		}
	}
	if endless(lines) {
		return stackOverflow()
	}
	return nil
}

// exception reads one exception, with its first line cut off.
func exception(text string, rest []string, failure plugins.Failure) *yurt.ExecutionError {
	for len(rest) > 0 && !isFrame(rest[0]) && !strings.HasPrefix(rest[0], " ---> ") && rest[0] != "" {
		text += "\n" + rest[0]
		rest = rest[1:]
	}
	text, _, _ = strings.Cut(text, " ---> ")
	kind, message, _ := strings.Cut(text, ": ")
	if kind == "" { // the program wrote it
		return nil
	}
	return &yurt.ExecutionError{Type: kind, Message: message, Stacktrace: stack(rest, failure)}
}

func isFrame(line string) bool {
	return strings.HasPrefix(line, "  at ") || strings.HasPrefix(line, "   at ")
}

// endless reports whether the lines end with so many calls that the stack was too small for them: .NET
// names all of them, and the beginning of its message is lost.
func endless(lines []string) bool {
	const many = 500
	count := 0
	for count < len(lines) && count < many && (isFrame(lines[len(lines)-1-count]) || count == 0) {
		count++
	}
	return count == many
}

func stackOverflow() *yurt.ExecutionError {
	return &yurt.ExecutionError{
		Type: "System.StackOverflowException", Message: "The requested operation caused a stack overflow.", Stacktrace: []string{},
	}
}

// localFunction finds .NET's name of a function in a method: <Main>g__Name|0_1.
var localFunction = regexp.MustCompile(`<\w+>g__(\w+)\|\d+_\d+`)

// stack returns the user's frames, the outermost first, as "P.Main (System.String[] a) (main.cs:12)".
func stack(lines []string, failure plugins.Failure) []string {
	frames := []string{}
	for _, line := range lines {
		if !isFrame(line) {
			continue
		}
		call, at, ok := strings.Cut(strings.TrimSpace(line)[len("at "):], " in ")
		// Mono writes file:12, .NET file:line 12.
		file, number, _ := compiled.CutLocation(strings.Replace(strings.TrimSpace(at), ":line ", ":", 1))
		if !ok || number == 0 || !compiled.Users(file, failure) {
			continue
		}
		if offset := strings.LastIndex(call, " ["); offset > 0 {
			call = call[:offset]
		}
		call = localFunction.ReplaceAllString(call, "$1")
		where := compiled.Diagnostic{File: compiled.Relative(file, failure), Line: number}
		frames = append(frames, call+" ("+where.Place()+")")
	}
	slices.Reverse(frames)
	return frames
}
