package compiled

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// maxDiagnostics bounds the lines of a compile error.
const maxDiagnostics = 100

// Diagnostic is one thing for which a compiler refuses a program.
type Diagnostic struct {
	File    string // empty: of no file, such as a linker's
	Line    int    // 0: unknown
	Column  int    // 0: unknown
	Message string
}

// String is the form that editors know: file:line:column: message.
func (d Diagnostic) String() string {
	if d.File == "" {
		return d.Message
	}
	return d.Place() + ": " + d.Message
}

// Inserted tells of text that was inserted into a snippet behind the code before it.
func Inserted(file, before, text string) *plugins.Insertion {
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return &plugins.Insertion{File: file, Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(line) + 1, Text: text}
}

// Place is file:line:column, as far as it is known.
func (d Diagnostic) Place() string {
	text := d.File
	if d.Line > 0 {
		text += ":" + strconv.Itoa(d.Line)
		if d.Column > 0 {
			text += ":" + strconv.Itoa(d.Column)
		}
	}
	return text
}

// ParseLocated reads "file:line:column: message", as most compilers write it; the
// column may be missing.
func ParseLocated(line string) (Diagnostic, bool) {
	for from := 0; ; {
		colon := strings.IndexByte(line[from:], ':')
		if colon < 0 {
			return Diagnostic{}, false
		}
		colon += from
		if number, rest, ok := cutNumber(line[colon+1:]); ok && colon > 0 && strings.HasPrefix(rest, ":") {
			d := Diagnostic{File: line[:colon], Line: number}
			if column, after, ok := cutNumber(rest[1:]); ok && strings.HasPrefix(after, ":") {
				d.Column, rest = column, after
			}
			d.Message = strings.TrimSpace(rest[1:])
			return d, true
		}
		from = colon + 1
	}
}

// cutNumber splits a positive number off the beginning of text.
func cutNumber(text string) (number int, rest string, ok bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	number, err := strconv.Atoi(text[:end])
	return number, text[end:], err == nil && number > 0
}

// CutLocation splits "file:line" or "file:line:column" off the end of text.
func CutLocation(text string) (file string, line, column int) {
	file, last, ok := cutLastNumber(text)
	if !ok {
		return text, 0, 0
	}
	if before, number, ok := cutLastNumber(file); ok {
		return before, number, last
	}
	return file, last, 0
}

func cutLastNumber(text string) (before string, number int, ok bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return text, 0, false
	}
	number, rest, ok := cutNumber(text[colon+1:])
	if !ok || rest != "" {
		return text, 0, false
	}
	return text[:colon], number, true
}

// CompileError is the error of a program that was refused. Its message is the first diagnostic, its
// stack trace has one line for each. Without any diagnostic, the output itself is the message.
func CompileError(list []Diagnostic, failure plugins.Failure) *yurt.ExecutionError {
	if len(list) == 0 {
		unknown := plugins.CompileError(failure.Output)
		if signal := syscall.Signal(failure.Signal); signal == syscall.SIGSEGV || signal == syscall.SIGBUS {
			unknown.Message = "the compiler crashed (" + signal.String() + "), as it does of code that is nested too deep\n" + unknown.Message
		}
		return unknown
	}
	lines := make([]string, 0, min(len(list), maxDiagnostics))
	for _, d := range list[:min(len(list), maxDiagnostics)] {
		d.File = Relative(d.File, failure)
		lines = append(lines, d.String())
	}
	message := lines[0]
	if more := len(list) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: message, Stacktrace: lines}
}

// Relative is a file of the user's as the user named it: less the directories in
// which the run has put it. One that is relative is so to the working directory.
func Relative(file string, failure plugins.Failure) string {
	if file == "" {
		return ""
	}
	if !path.IsAbs(file) {
		file = path.Join(failure.Root, file)
	}
	name, _ := failure.UserPath(path.Clean(file))
	return name
}

// Users reports whether the file is of the user's own: of the snippet or the project,
// and not of a library.
func Users(file string, failure plugins.Failure) bool {
	return file != "" && !path.IsAbs(Relative(file, failure))
}

// Lines are the lines of an output, as valid UTF-8.
func Lines(output []byte) []string {
	return strings.Split(strings.ToValidUTF8(string(output), "\uFFFD"), "\n")
}
