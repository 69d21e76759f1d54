package hcl

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/yurtrun/yurt"
)

// Severity says how bad a problem is.
type Severity string

// SeverityError prevents the source from being used. There are no warnings yet.
const SeverityError Severity = "error"

// Diagnostic is one problem. Lines and columns count from 1, columns in characters as a reader sees them; they are 0 where there
// is no source text. No text holds control characters of the source.
type Diagnostic struct {
	Severity  Severity `json:"severity"`
	Summary   string   `json:"summary"`
	Detail    string   `json:"detail"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Column    int      `json:"column"`
	EndLine   int      `json:"end_line"`
	EndColumn int      `json:"end_column"` // of the first character after the problem
	Snippet   string   `json:"snippet"`    // the source line, cut around the problem when it is long
	Context   string   `json:"context,omitempty"`
	Field     string   `json:"field,omitempty"` // dotted path in the template's JSON form

	marker string // spaces and carets that underline the problem in Snippet
}

// Error is everything that is wrong with a source, in the order of the source.
// It prints in full, and is a [*yurt.Error] to errors.As: with
// [yurt.CodeTemplateInvalid], but for JSON that does not decode
// ([yurt.CodeMalformedBody]) or names an unknown field ([yurt.CodeUnknownField]).
type Error struct {
	Diagnostics []Diagnostic `json:"diagnostics"`       // never empty, at most [MaxDiagnostics]
	Omitted     int          `json:"omitted,omitempty"` // how many more there were

	code yurt.Code
}

// Error implements error: the text of all problems, without colour.
func (e *Error) Error() string { return e.Text(false) }

// Unwrap returns the problems as one error of the domain, whose message is a
// single line about the first.
func (e *Error) Unwrap() error {
	first := e.Diagnostics[0]
	var b strings.Builder
	if first.Line > 0 {
		fmt.Fprintf(&b, "%s:%d:%d: ", cmp.Or(first.File, "source"), first.Line, first.Column)
	}
	b.WriteString(first.Summary)
	if first.Detail != "" {
		b.WriteString(": " + strings.Join(strings.Fields(first.Detail), " "))
	}
	if more := len(e.Diagnostics) + e.Omitted - 1; more > 0 {
		fmt.Fprintf(&b, " (and %s)", count(more, "more problem"))
	}
	return yurt.FieldErrorf(cmp.Or(e.code, yurt.CodeTemplateInvalid), first.Field, "%s", b.String())
}

// about is this package's own part of its [hcl.Diagnostic] values.
type about struct {
	field string
	code  yurt.Code
}

// problem makes a diagnostic about subject, which may be nil.
func problem(subject *hcl.Range, summary, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  summary,
		Detail:   fmt.Sprintf(format, args...),
		Subject:  subject,
	}
}

// fieldProblem makes a diagnostic of an error about one field.
func fieldProblem(subject *hcl.Range, err *yurt.Error) *hcl.Diagnostic {
	d := problem(subject, summaryOf(err.Code), "%s", err.Error())
	d.Extra = about{field: err.Field, code: err.Code}
	return d
}

func summaryOf(code yurt.Code) string {
	switch code {
	case yurt.CodeLimitOutOfRange:
		return "Value out of range"
	case yurt.CodeInvalidPath:
		return "Path not allowed"
	case yurt.CodeNotSupported:
		return summaryNotSupported
	case yurt.CodeMalformedBody:
		return "Malformed JSON"
	case yurt.CodeUnknownField:
		return "Unknown field"
	default:
		return "Invalid value"
	}
}

const summaryNotSupported = "Not supported yet"

// newError makes the error of diags, which may not be empty. files holds the
// sources by name, for the snippets.
func newError(diags hcl.Diagnostics, files map[string]*hcl.File) *Error {
	slices.SortStableFunc(diags, comparePositions)
	e := &Error{}
	if extra, ok := diags[0].Extra.(about); ok {
		e.code = requestCode(extra.code)
	}
	for _, d := range diags {
		if len(e.Diagnostics) == MaxDiagnostics {
			e.Omitted++
			continue
		}
		e.Diagnostics = append(e.Diagnostics, newDiagnostic(d, files))
	}
	return e
}

// requestCode keeps the codes that say more of a JSON body than that the template
// is invalid.
func requestCode(code yurt.Code) yurt.Code {
	switch code {
	case yurt.CodeMalformedBody, yurt.CodeUnknownField:
		return code
	default:
		return yurt.CodeTemplateInvalid
	}
}

// comparePositions sorts by file and position; diagnostics without a position come last.
func comparePositions(a, b *hcl.Diagnostic) int {
	switch {
	case a.Subject == nil && b.Subject == nil:
		return 0
	case a.Subject == nil:
		return 1
	case b.Subject == nil:
		return -1
	}
	return cmp.Or(
		cmp.Compare(a.Subject.Filename, b.Subject.Filename),
		cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte),
	)
}

func newDiagnostic(d *hcl.Diagnostic, files map[string]*hcl.File) Diagnostic {
	out := Diagnostic{
		Severity: SeverityError,
		Summary:  oneLine(d.Summary, maxSummaryRunes),
		Detail:   printable(d.Detail, maxDetailRunes),
	}
	if extra, ok := d.Extra.(about); ok {
		out.Field = oneLine(extra.field, maxSummaryRunes)
	}
	if d.Subject == nil {
		return out
	}
	file, at := files[d.Subject.Filename], *d.Subject
	if file != nil && at.Start.Line == 0 {
		at.Start, at.End = locate(file.Bytes, at.Start.Byte), locate(file.Bytes, at.End.Byte)
	}
	out.File = oneLine(d.Subject.Filename, yurt.MaxPathBytes)
	out.Line, out.Column = at.Start.Line, at.Start.Column
	out.EndLine, out.EndColumn = at.End.Line, at.End.Column
	if file != nil {
		out.Snippet, out.marker = snippet(file.Bytes, at)
		out.Context = oneLine(contextOf(file, d.Subject.Start.Byte), maxSummaryRunes)
	}
	return out
}

// locate counts lines and columns up to offset.
func locate(src []byte, offset int) hcl.Pos {
	before := src[:min(offset, len(src))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return hcl.Pos{
		Line:   bytes.Count(before, []byte{'\n'}) + 1,
		Column: utf8.RuneCount(before[lineStart:]) + 1,
		Byte:   offset,
	}
}

// contextOf names the outermost block around offset, such as `template "x"`.
func contextOf(file *hcl.File, offset int) string {
	if nav, ok := file.Nav.(interface{ ContextString(offset int) string }); ok {
		return nav.ContextString(offset)
	}
	return ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
