package protocol

import (
	"syscall"

	"github.com/yurtrun/yurt/executor/initd"
)

// Process is a kernel's process. Send, Signal and Ack must not wait for it, and every other wait in them is bounded.
// Once the process was killed, Next soon returns its end.
type Process interface {
	// Send gives it a request, whole or not at all.
	Send(request Request) error
	// Next returns the next piece of output, or how the process ended. The data is valid until the call after.
	Next() (initd.Chunk, *initd.Exit, error)
	// Ack says that everything up to a chunk is kept.
	Ack(seq uint64) error
	// Unread reports whether it has ended without reading the request that it was sent last.
	Unread() bool
	// Signal sends a signal to it and its process group.
	Signal(signal syscall.Signal) error
	// Count says how many processes there are, it and all that it started.
	Count() (int, error)
	// Alone reports whether there is no other, and no second thread that could start one.
	Alone() (bool, error)
	// Kill ends it with all of its descendants, and returns when they are gone.
	Kill()
	// Close releases its resources, once Next has returned an exit or an error.
	Close()
}

// Starter starts a kernel. Its error may be [ErrClosing].
type Starter func() (Process, error)
