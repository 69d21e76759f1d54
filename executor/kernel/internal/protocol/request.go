package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/yurtrun/yurt"
)

// MaxLine is the length of the longest request that goes through the FIFO itself, in bytes: the size of an atomic
// write to a pipe.
const MaxLine = 4096

// Request asks a kernel to run something. The order of its fields is part of the
// protocol: a kernel without a parser for JSON takes it apart by them.
type Request struct {
	ID    string   `json:"id"`
	Cwd   string   `json:"cwd,omitempty"`   // absolute; empty: where the kernel is
	Stdin []byte   `json:"stdin,omitempty"` // in base64
	Env   []string `json:"env,omitempty"`   // NAME=VALUE, for this execution alone
	// Handler is set for code that may be a handler: when it only defines things, and the
	// function of that name among them, that is called.
	Handler *HandlerCall `json:"handler,omitempty"`
	// Ask is "complete" or "inspect" for a question about the code, which is not run, at the
	// cursor, which counts Unicode code points. The result of its done is the answer. It has no
	// marks, no number, and no part of it is asked again.
	Ask    yurt.QuestionKind `json:"ask,omitempty"`
	Cursor *int              `json:"cursor,omitempty"`
	Detail int               `json:"detail,omitempty"`
	Code   string            `json:"code"`

	// Function is set, for a process that is no interpreter, to the invocation.
	Function *yurt.ExecutionSpec `json:"-"`
}

// HandlerCall holds the parameters of a handler's call.
type HandlerCall struct {
	Name    string  `json:"name"`
	Timeout float64 `json:"timeout"`   // seconds
	Memory  int64   `json:"memory_mb"` // limit of the sandbox, in MiB
}

// fileRequest names the file that holds a request.
type fileRequest struct {
	ID   string `json:"id"`
	File string `json:"file"`
}

// NewRequest returns the request that asks the kernel for an execution.
func NewRequest(spec yurt.ExecutionSpec) Request {
	r := Request{ID: spec.ID, Cwd: spec.Cwd, Stdin: spec.Stdin, Code: spec.Code}
	for name, value := range spec.Env {
		r.Env = append(r.Env, name+"="+value)
	}
	return r
}

// Encode returns the request as a line, and whether that fits the FIFO.
func (r Request) Encode() (line []byte, fits bool, err error) {
	line, err = encodeLine(r)
	return line, len(line) <= MaxLine, err
}

// InFile returns the line that stands for a request which is in a file.
func InFile(id, path string) ([]byte, error) { return encodeLine(fileRequest{id, path}) }

func encodeLine(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line) // ends the line
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a request: %w", err)
	}
	return line.Bytes(), nil
}
