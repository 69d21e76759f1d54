package java

import (
	"context"
	"slices"
	"strings"
	"unicode"

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
	return uncaught(lines), nil
}

// diagnostics reads javac's "file:line: error: message", the line and a mark below
// its column, and details such as "symbol: method foo()".
func diagnostics(lines []string) []compiled.Diagnostic {
	var list []compiled.Diagnostic
	for i, line := range lines {
		if d, ok := compiled.ParseLocated(line); ok {
			message, isError := strings.CutPrefix(d.Message, "error: ")
			if !isError {
				continue
			}
			d.Message = message
			if i+2 < len(lines) && strings.TrimSpace(lines[i+2]) == "^" {
				d.Column = strings.IndexByte(lines[i+2], '^') + 1
			}
			list = append(list, d)
			continue
		}
		if message, ok := strings.CutPrefix(line, "error: "); ok {
			list = append(list, compiled.Diagnostic{Message: message})
		}
		if detail, ok := strings.CutPrefix(line, "  symbol: "); ok && len(list) > 0 {
			list[len(list)-1].Message += ": " + strings.TrimSpace(detail)
		}
	}
	return list
}

// uncaught reads the last exception that the virtual machine reports for a thread.
func uncaught(lines []string) *yurt.ExecutionError {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, ok := strings.CutPrefix(lines[i], `Exception in thread "`)
		if !ok {
			if message, ok := strings.CutPrefix(lines[i], "Error: "); ok && i == 0 {
				return &yurt.ExecutionError{Type: "Error", Message: strings.TrimSpace(strings.Join(append([]string{message}, lines[1:]...), "\n")), Stacktrace: []string{}}
			}
			continue
		}
		kind, message, ok := exception(rest)
		if !ok { // the program wrote it
			return nil
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "\tat ") && !strings.HasPrefix(lines[end], "Caused by: ") && lines[end] != "" {
			message += "\n" + lines[end]
			end++
		}
		return &yurt.ExecutionError{Type: kind, Message: message, Stacktrace: stack(lines[end:])}
	}
	return nil
}

// exception reads the text after `Exception in thread "`: the thread's name, which can hold any
// text, and the exception, whose message can too.
func exception(text string) (kind, message string, ok bool) {
	for {
		if _, text, ok = strings.Cut(text, `" `); !ok {
			return "", "", false
		}
		kind = text[:len(text)-len(strings.TrimLeftFunc(text, ofClass))]
		message, ok = strings.CutPrefix(text[len(kind):], ": ")
		if kind != "" && (ok || kind == text) {
			return kind, message, true
		}
	}
}

// ofClass reports whether the name of a class, such as a.b.C$D, can have the character.
func ofClass(r rune) bool {
	return r == '.' || r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// stack returns the user's frames, the outermost first, as "Main.f(Main.java:3)"; those
// of an exception's cause come before it, as in "Caused by: …". Frames of modules such as java.base are not the user's.
func stack(lines []string) []string {
	frames := []string{}
	for _, line := range lines {
		if frame, ok := strings.CutPrefix(line, "\tat "); ok {
			call, _, _ := strings.Cut(frame, "(")
			if !strings.Contains(call, "/") {
				frames = append(frames, frame)
			}
			continue
		}
		if strings.HasPrefix(line, "Caused by: ") {
			frames = append(frames, line)
		}
	}
	slices.Reverse(frames)
	return frames
}
