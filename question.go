package yurt

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// QuestionKind is the kind of a question about code that is not run.
type QuestionKind string

// The kinds of question.
const (
	QuestionComplete QuestionKind = "complete" // how the code at the cursor may go on
	QuestionInspect  QuestionKind = "inspect"  // the meaning of the name at the cursor
)

// Bounds of questions and their answers.
const (
	MaxQuestionBytes     = 1 << 20 // of the code
	MaxMatches           = 1000
	MaxMatchBytes        = 4 << 10 // of one match
	MaxMatchTypeBytes    = 64
	MaxInspectionBytes   = 1 << 20 // of all that is said of a name
	MaxInspectionTypes   = 32
	MinQuestionTimeout   = 100 * time.Millisecond
	MaxQuestionTimeout   = 10 * time.Second
	QuestionTimeout      = 3 * time.Second // where the question names no timeout
	maxInspectionTypeLen = 128
)

// Question asks the interpreter of a context about code. It is no execution: the interpreter does
// not run the code.
type Question struct {
	Kind QuestionKind `json:"kind"`
	Code string       `json:"code"`
	// Cursor is the place in the code, in Unicode code points; nil is the end of the code.
	Cursor *int `json:"cursor,omitempty"`
	Detail int  `json:"detail,omitempty"` // of an inspection: 0, or 1 for the source code too
	// Language lets the context be made if there is no context of the name; empty refuses that.
	Language string `json:"language,omitempty"`
	// Timeout bounds the wait for the context's turn, and then the wait for the answer.
	Timeout Duration `json:"timeout,omitempty"`
}

// Validate checks a question and fills in its defaults.
func (q *Question) Validate() error {
	if len(q.Code) > MaxQuestionBytes {
		return FieldErrorf(CodeLimitOutOfRange, "code", "%d bytes are too many; at most %d are allowed, leave out what is far from the cursor", len(q.Code), MaxQuestionBytes)
	}
	if !utf8.ValidString(q.Code) {
		return FieldErrorf(CodeInvalidArgument, "code", "it is not UTF-8; send text in UTF-8")
	}
	length := utf8.RuneCountInString(q.Code)
	if q.Cursor == nil {
		q.Cursor = &length
	}
	if *q.Cursor < 0 || *q.Cursor > length {
		return FieldErrorf(CodeLimitOutOfRange, "cursor", "%d is outside the code; give 0 to %d, which counts Unicode code points", *q.Cursor, length)
	}
	if q.Detail < 0 || q.Detail > 1 {
		return FieldErrorf(CodeLimitOutOfRange, "detail", "%d is not allowed; give 0, or 1 for the source code too", q.Detail)
	}
	if q.Timeout == 0 {
		q.Timeout = Duration(QuestionTimeout)
	}
	if t := q.Timeout.Std(); t < MinQuestionTimeout || t > MaxQuestionTimeout {
		return FieldErrorf(CodeLimitOutOfRange, "timeout", "%s is not allowed; give %s to %s", q.Timeout, Duration(MinQuestionTimeout), Duration(MaxQuestionTimeout))
	}
	if q.Kind != QuestionComplete && q.Kind != QuestionInspect {
		return FieldErrorf(CodeInvalidArgument, "kind", "%.40q is no question; ask %q or %q", string(q.Kind), QuestionComplete, QuestionInspect)
	}
	return nil
}

// Completion says how code may go on: each match can take the place of the code from CursorStart
// to CursorEnd, which count Unicode code points.
type Completion struct {
	Matches     []Match `json:"matches" maxItems:"1000" nullable:"false"`
	CursorStart int     `json:"cursor_start" minimum:"0" doc:"Start of the text that a match replaces, in Unicode code points."`
	CursorEnd   int     `json:"cursor_end" minimum:"0" doc:"End of that text."`
}

// Match is one way in which code may go on.
type Match struct {
	Text string `json:"text"`
	Type string `json:"type,omitempty" doc:"Kind of the match: function, class, module, instance, property, keyword, statement, key, path, or the interpreter's own name for it."`
}

// Inspection is an interpreter's description of a name, by MIME type.
type Inspection struct {
	Found bool                       `json:"found"`
	Data  map[string]json.RawMessage `json:"data" nullable:"false" doc:"The description by MIME type, always with text/plain. Empty if the name was not found."`
}

// Answer answers a question: the field of its kind is set.
type Answer struct {
	Completion *Completion `json:"completion,omitempty"`
	Inspection *Inspection `json:"inspection,omitempty"`
}

// DecodeAnswer reads an interpreter's answer, which is hostile: lists are cut at their bounds, and
// an answer that is malformed otherwise is an error.
func (q *Question) DecodeAnswer(data []byte) (Answer, error) {
	if q.Kind == QuestionInspect {
		var inspection Inspection
		if err := json.Unmarshal(data, &inspection); err != nil {
			return Answer{}, Errorf(CodeInternal, "the interpreter's answer cannot be read: %w", err)
		}
		return Answer{Inspection: &inspection}, inspection.check()
	}
	var completion Completion
	if err := json.Unmarshal(data, &completion); err != nil {
		return Answer{}, Errorf(CodeInternal, "the interpreter's answer cannot be read: %w", err)
	}
	length := utf8.RuneCountInString(q.Code)
	if completion.CursorStart < 0 || completion.CursorStart > completion.CursorEnd || completion.CursorEnd > length {
		return Answer{}, Errorf(CodeInternal, "the interpreter answered with a range from %d to %d of a code of %d characters", completion.CursorStart, completion.CursorEnd, length)
	}
	matches := make([]Match, 0, min(len(completion.Matches), MaxMatches))
	for _, m := range completion.Matches {
		if len(matches) == MaxMatches {
			break
		}
		if m.Text == "" || len(m.Text) > MaxMatchBytes || len(m.Type) > MaxMatchTypeBytes || strings.ContainsFunc(m.Text+m.Type, unicode.IsControl) {
			continue
		}
		matches = append(matches, m)
	}
	completion.Matches = matches
	return Answer{Completion: &completion}, nil
}

// check refuses an inspection beyond its bounds.
func (i *Inspection) check() error {
	size := 0
	for name, value := range i.Data {
		odd := func(r rune) bool { return r <= ' ' || r > '~' }
		if len(name) > maxInspectionTypeLen || !strings.Contains(name, "/") || strings.ContainsFunc(name, odd) {
			return Errorf(CodeInternal, "the interpreter answered with a type that is no MIME type")
		}
		size += len(name) + len(value)
	}
	if size > MaxInspectionBytes || len(i.Data) > MaxInspectionTypes {
		return Errorf(CodeInternal, "the interpreter answered with %d bytes in %d types; at most %d in %d are allowed", size, len(i.Data), MaxInspectionBytes, MaxInspectionTypes)
	}
	if i.Data == nil || !i.Found {
		i.Data = map[string]json.RawMessage{}
	}
	return nil
}
