package initd

import (
	"errors"
	"fmt"
)

// MaxInput bounds the data of one [InputRequest], in bytes: the capacity of a pipe.
const MaxInput = 64 << 10

// InputRequest carries data for the stdin of a process that was started with an open stdin or with a terminal. The
// answer comes once the process, or a pipe's buffer, has taken the data.
type InputRequest struct {
	ID   string `json:"id"`
	Data []byte `json:"data,omitempty"`
	EOF  bool   `json:"eof,omitempty"` // no input comes after Data; a terminal gets a Ctrl-D
}

// Validate checks the fields of an input request.
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

// Validate checks the fields of a resize request.
func (r *ResizeRequest) Validate() error {
	if !r.Size.valid() {
		return errors.New("a terminal has at least one row and one column")
	}
	return nil
}
