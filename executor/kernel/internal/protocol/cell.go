package protocol

import (
	"time"

	"github.com/yurtrun/yurt/executor/initd"
)

// Cell is one execution in a context. Its methods are called one at a time, and must
// not call the context.
type Cell interface {
	ID() string
	Request() Request
	// Waits says that its turn has not come for a while, as it is that of the cell behind.
	Waits(behind string)
	// StartClock calls expired when the cell's time is up, unless StopClock comes first.
	StartClock(expired func())
	StopClock()
	// Begin says that its turn has come; its output comes after the chunk seq.
	Begin(process Process, seq uint64) error
	// Keep keeps a piece of its output, which is part of the chunk seq.
	Keep(seq uint64, stream initd.Stream, data []byte) error
	// End is the last call.
	End(outcome Outcome)
}

// Outcome says how a cell ended. Done is set when the kernel said so, Exit when it
// ended before that, Err when neither can be known.
type Outcome struct {
	Done      *Done
	Exit      *initd.Exit
	Err       error
	TimedOut  bool
	Yielded   time.Duration // how long after its time was up it ended
	Cancelled bool          // before its turn
	Overdue   time.Duration // how long it waited for its turn, which was too long; else 0
	Restarted bool          // its kernel was a fresh one in place of another
	StateLost bool          // its kernel is gone
	Why       string
	Bytes     [2]int64 // written to stdout and stderr
}
