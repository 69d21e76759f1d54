package initd

import (
	"errors"
	"fmt"
)

// MaxInput bounds the data of one [InputRequest], in bytes: what a pipe holds.
const MaxInput = 64 << 10

// InputRequest brings what a process that was started with an open stdin, or with a
// terminal, is to read. It is answered once the process, or a pipe's buffer, has
// taken it.
type InputRequest struct {
	ID   string `json:"id"`
	Data []byte `json:"data,omitempty"`
	EOF  bool   `json:"eof,omitempty"` // nothing comes after Data; a terminal is sent what Ctrl-D is
}

// Validate checks what an input request must have.
func (r *InputRequest) Validate() error {
	switch {
	case len(r.Data) > MaxInput:
		return fmt.Errorf("%d bytes of input exceed %d", len(r.Data), MaxInput)
	case len(r.Data) == 0 && !r.EOF:
		return errors.New("there is no input")
	}
	return nil
}

// WindowSize is the size of a terminal, in characters.
type WindowSize struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

func (w WindowSize) valid() bool { return w.Rows > 0 && w.Cols > 0 }

// ResizeRequest gives the terminal of a process another size.
type ResizeRequest struct {
	ID   string     `json:"id"`
	Size WindowSize `json:"size"`
}

// Validate checks what a resize request must have.
func (r *ResizeRequest) Validate() error {
	if !r.Size.valid() {
		return errors.New("a terminal has at least one row and one column")
	}
	return nil
}
