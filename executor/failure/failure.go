// Package failure carries errors between processes of a node, in messages of JSON.
package failure

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/yurtrun/yurt"
)

// maxText bounds the text of an error, in bytes.
const maxText = 4 << 10

// Failure is an error on its way. The other side sees in it all that its callers look for: the code, the number of the kernel's error, the
// file that it is about, and a few errors that are values of their own.
type Failure struct {
	Text    string        `json:"text"`
	Code    yurt.Code     `json:"code,omitempty"`
	Message string        `json:"message,omitempty"`
	Field   string        `json:"field,omitempty"`
	ETag    string        `json:"etag,omitempty"`
	Errno   syscall.Errno `json:"errno,omitempty"`
	File    *failedFile   `json:"file,omitempty"` // of the kernel's error
	Value   string        `json:"value,omitempty"`
}

// failedFile is the subject of an [fs.PathError].
type failedFile struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// values are the errors that callers compare with, by their names in messages.
func values() map[string]error {
	return map[string]error{"canceled": context.Canceled, "deadline_exceeded": context.DeadlineExceeded, "unsupported": errors.ErrUnsupported}
}

// New returns the failure that carries an error.
func New(err error) *Failure {
	f := &Failure{Text: short(err.Error())}
	var coded *yurt.Error
	if errors.As(err, &coded) {
		f.Code, f.Message, f.Field, f.ETag = coded.Code, short(coded.Message), coded.Field, coded.ETag
	}
	var file *fs.PathError
	if errors.As(err, &f.Errno) && errors.As(err, &file) && errors.Is(file, f.Errno) {
		f.File = &failedFile{Op: file.Op, Path: short(file.Path)}
	}
	for name, value := range values() {
		if errors.Is(err, value) {
			f.Value = name
		}
	}
	return f
}

// short makes text fit into a message.
func short(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "?") }

// Err returns the error.
func (f *Failure) Err() error {
	e := &failed{text: f.Text}
	if f.Code != "" {
		e.parts = append(e.parts, &yurt.Error{Code: f.Code, Message: f.Message, Field: f.Field, ETag: f.ETag})
	}
	switch {
	case f.File != nil:
		e.parts = append(e.parts, &fs.PathError{Op: f.File.Op, Path: f.File.Path, Err: f.Errno})
	case f.Errno != 0:
		e.parts = append(e.parts, f.Errno)
	}
	if value := values()[f.Value]; value != nil {
		e.parts = append(e.parts, value)
	}
	return e
}

// failed is an error of another process, with its text there.
type failed struct {
	text  string
	parts []error
}

// Error implements error.
func (f *failed) Error() string { return f.text }

// Unwrap returns the parts of it that callers look for.
func (f *failed) Unwrap() []error { return f.parts }
