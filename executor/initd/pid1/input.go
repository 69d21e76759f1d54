package pid1

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/yurtrun/yurt/executor/initd"
)

// input is the host's end of a process's stdin: a pipe, or the terminal.
type input struct {
	file     *os.File
	terminal bool

	mu sync.Mutex // one write at a time
}

// endOfTransmission is the byte of a Ctrl-D: a terminal has no other end of input.
const endOfTransmission = 4

// write hands data on, and then the end if eof is set. It waits while the process
// does not read, but not beyond gone.
func (i *input) write(data []byte, eof bool, gone <-chan struct{}) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if eof && i.terminal {
		data = append(data, endOfTransmission)
	}
	written := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-gone:
			_ = i.file.SetWriteDeadline(time.Unix(1, 0)) // fails if it was closed, which ends the write too
		case <-written:
		}
	})
	_, err := i.file.Write(data)
	close(written)
	watching.Wait()
	_ = i.file.SetWriteDeadline(time.Time{})
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		return refusal(initd.ReasonNoStdin, errors.New("no process reads its stdin any more"))
	}
	if err != nil {
		return refusal(initd.ReasonNoStdin, fmt.Errorf("writing to its stdin: %w", err))
	}
	if eof && !i.terminal {
		i.file.Close()
	}
	return nil
}

// close ends the input and wakes a waiting write. A terminal is closed by its reader.
func (i *input) close() {
	if !i.terminal {
		i.file.Close()
	}
}

// write gives the process data to read.
func (p *process) write(req initd.InputRequest, gone <-chan struct{}) error {
	if p.input == nil {
		return refusal(initd.ReasonNoStdin, fmt.Errorf("process %s was started without an open stdin", p.id))
	}
	return p.input.write(req.Data, req.EOF, gone)
}
