package yurt

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
	"unicode/utf8"
)

// MaxOutlineBytes bounds the outline of an execution. Events that the outline has no room for are a
// gap when the events are replayed.
const MaxOutlineBytes = 64 << 10

// Outline says which events an execution had, and when. With the [Result] beside it, which has the
// content of the events, they can be replayed with their numbers. It begins with flags; then it has
// for each event but the last, which is that of the end, its kind, the milliseconds since the one
// before it, and its size. Nodes and stores keep it; users do not see it.
type Outline []byte

// The flags of an outline: the kinds of events whose content the result still has.
const (
	outlineStdout = 1 << iota
	outlineStderr
	outlineDisplays
	outlineBase // always set: an outline is never empty, nor all zero
)

// The kinds of step of an outline beside those that are an event. Numbers are part of the format.
const (
	// outlineRest takes the place of all further events: their number, and how many bytes of stdout
	// and of stderr they had.
	outlineRest = 0
	// outlineLost is added to the kind of output that is not UTF-8.
	outlineLost = 8
	// outlineSkip is added to the kind of output: so many bytes of the result's text are in place of
	// the pieces before it that are not UTF-8.
	outlineSkip = 16
)

// outlineKinds are the kinds of event by their number in an outline.
func outlineKinds() []EventType {
	return []EventType{outlineRest: "", 1: EventStarted, 2: EventStdout, 3: EventStderr, 4: EventDisplay, 5: EventResponse, 6: EventProgress}
}

// streamIndex returns 0 for stdout, 1 for stderr and -1 for other kinds of event.
func streamIndex(kind EventType) int {
	return slices.Index([]EventType{EventStdout, EventStderr}, kind)
}

// OutlineBuilder makes an outline of events. The zero value has no events.
type OutlineBuilder struct {
	steps     []byte
	full      bool // there is no room for more steps
	began     time.Time
	offset    int64         // of the last event, in milliseconds
	text      [2]int        // bytes of stdout and stderr as results have them
	binary    [2]TextWriter // counts the last pieces of them that are not UTF-8
	displays  int           // in the outline
	updates   bool          // a display may have taken the place of another
	rest      uint64        // events for which there was no room
	restBytes [2]uint64     // of stdout and stderr, in these
}

// Add takes the next event of an execution. That of its end is left out.
func (b *OutlineBuilder) Add(e Event) {
	if e.Type == EventEnded {
		return
	}
	if b.began.IsZero() {
		b.began = e.At
	}
	kind := slices.Index(outlineKinds(), e.Type)
	stream := streamIndex(e.Type)
	switch {
	case stream >= 0 && utf8.Valid(e.Data):
		if skipped := b.endBinary(stream); skipped > 0 {
			b.append(byte(kind+outlineSkip), b.offset, skipped, nil)
		}
		b.text[stream] += len(e.Data)
	case stream >= 0:
		_, _ = b.binary[stream].Write(e.Data)
		kind += outlineLost
	case e.Type == EventDisplay:
		b.updates = b.updates || e.Display.Update || e.Display.ID != "" || e.Display.Clear
	}
	var inline []byte
	if e.Type == EventProgress { // which the result has not
		inline = e.Data
	}
	if b.append(byte(max(kind, 0)), max(b.offset, e.At.Sub(b.began).Milliseconds()), len(e.Data), inline) {
		if e.Type == EventDisplay {
			b.displays++
		}
		return
	}
	if b.rest++; stream >= 0 {
		b.restBytes[stream] += uint64(len(e.Data))
	}
}

// UnkeptOutline is the outline of an execution that had so many events of output, of which none is kept. A watcher that lacks some of
// them is told of a gap.
func UnkeptOutline(events uint64, result *Result) Outline {
	var b OutlineBuilder
	b.Add(Event{Type: EventStarted, At: result.StartedAt})
	b.rest = events
	return b.Outline(result)
}

// endBinary returns how many bytes the text of a result has for the last pieces that are not UTF-8.
func (b *OutlineBuilder) endBinary(stream int) int {
	_ = b.binary[stream].Close()
	size := int(b.binary[stream].Size)
	b.text[stream], b.binary[stream] = b.text[stream]+size, TextWriter{}
	return size
}

// append adds a step, if there is room and no step was left out before it.
func (b *OutlineBuilder) append(kind byte, offset int64, size int, inline []byte) bool {
	step := binary.AppendUvarint([]byte{kind}, uint64(offset-b.offset))
	step = append(binary.AppendUvarint(step, uint64(size)), inline...)
	const restRoom = 2 + 3*binary.MaxVarintLen64
	if b.full = b.full || kind == outlineRest || len(b.steps)+len(step)+restRoom > MaxOutlineBytes; b.full {
		return false
	}
	b.steps, b.offset = append(b.steps, step...), offset
	return true
}

// Outline returns the outline of the events so far, for the result that the execution ended with.
func (b *OutlineBuilder) Outline(result *Result) Outline {
	flags := byte(outlineBase)
	for stream, kind := range []EventType{EventStdout, EventStderr} {
		if b.endBinary(stream); int64(b.text[stream]) == result.OutputBytes(kind) {
			flags |= outlineStdout << stream
		}
	}
	if !b.updates && !result.Truncated.Results && b.displays <= len(result.Displays) {
		flags |= outlineDisplays
	}
	outline := append([]byte{flags}, b.steps...)
	if b.rest > 0 {
		outline = append(outline, outlineRest)
		for _, n := range []uint64{b.rest, b.restBytes[0], b.restBytes[1]} {
			outline = binary.AppendUvarint(outline, n)
		}
	}
	return outline
}

// KeptResult is a result as nodes and stores keep it, and send it to each other.
type KeptResult struct {
	*Result

	Outline Outline `json:"outline,omitempty"`
	// Apart says how many bytes of text stdout and stderr have, where they are kept apart; nil where they are in the result.
	Apart *[2]int64 `json:"output_apart,omitempty"`
	// OutputID names the pieces in which a store keeps them.
	OutputID string `json:"output_id,omitempty"`
}

// Kept returns the result with its outline, to be encoded.
func (r *Result) Kept() KeptResult {
	kept := KeptResult{Result: r, Outline: r.Outline}
	if r.Output != nil {
		kept.Apart = &[2]int64{r.Output.Stdout, r.Output.Stderr}
	}
	return kept
}

// Take returns the result that was decoded, with its outline. Where its output is apart, the keeper of the output
// sets how to open it.
func (k KeptResult) Take() *Result {
	if k.Result == nil {
		k.Result = new(Result)
	}
	k.Result.Outline = k.Outline
	if k.Apart != nil {
		k.Result.Output = &Output{Stdout: k.Apart[0], Stderr: k.Apart[1]}
	}
	return k.Result
}

var errBadOutline = errors.New("reading the outline of an execution: it is not whole")
