package screen

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// silence is how long a person waits before the screen shows the reason.
	silence = 2 * time.Second
	// tick is how often a line on a terminal moves.
	tick = 200 * time.Millisecond
)

// Wait says on a stream, usually standard error, why a silent command waits. On a terminal it is a
// line that counts the seconds and goes away; elsewhere it is a line after 2, 10 and 30 seconds,
// and then each minute. It belongs to one command, which calls End. A nil Wait is silent.
type Wait struct {
	out    io.Writer
	screen Screen
	stop   chan struct{}
	over   sync.WaitGroup

	mu    sync.Mutex
	phase string // "" while there is no need to say anything
	since time.Time
	said  time.Duration // of the last line, away from a terminal
	drawn bool          // a line is on the terminal
	turns int
}

// NewWait begins with a phase, such as "starting the sandbox".
func NewWait(out io.Writer, screen Screen, phase string) *Wait {
	w := &Wait{out: out, screen: screen, stop: make(chan struct{}), phase: phase, since: time.Now()}
	w.over.Go(w.run)
	return w
}

func (w *Wait) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.say()
		case <-w.stop:
			return
		}
	}
}

// Phase names the phase that begins now; "" is a phase that shows no line.
func (w *Wait) Phase(phase string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
	w.phase, w.since, w.said = phase, time.Now(), 0
}

// Describe puts another description of the same phase in place of the one there is.
func (w *Wait) Describe(phase string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = phase
}

// Write passes output on to a stream that may be the same terminal, and waits for silence anew.
func (w *Wait) Write(to io.Writer, data []byte) (int, error) {
	if w == nil {
		return to.Write(data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
	w.since, w.said = time.Now(), 0
	return to.Write(data)
}

// End takes the line away, for good.
func (w *Wait) End() {
	if w == nil {
		return
	}
	w.mu.Lock()
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.mu.Unlock()
	w.over.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
}

func (w *Wait) say() {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := time.Since(w.since)
	if w.phase == "" || waited < silence {
		return
	}
	if !w.screen.Terminal {
		if waited >= w.next() {
			w.said = waited
			fmt.Fprintf(w.out, "yurt: %s (%d s)\n", w.phase, int(waited.Seconds()))
		}
		return
	}
	w.turns++
	line := fmt.Sprintf("%c %s (%d s)", `|/-\`[w.turns%4], w.phase, int(waited.Seconds()))
	if over := len(line) - (w.screen.Width - 1); over > 0 { // a line that wraps cannot be taken away
		line = line[:len(line)-over]
	}
	ClearLine(w.out)
	fmt.Fprint(w.out, w.screen.Paint(Faint, line))
	w.drawn = true
}

// next returns how long is waited before the line after the last one.
func (w *Wait) next() time.Duration {
	for _, after := range []time.Duration{silence, 10 * time.Second, 30 * time.Second} {
		if w.said < after {
			return after
		}
	}
	return w.said.Truncate(time.Minute) + time.Minute
}

func (w *Wait) clear() {
	if w.drawn {
		ClearLine(w.out)
		w.drawn = false
	}
}
