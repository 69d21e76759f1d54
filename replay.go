package yurt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Gap says which events of an execution cannot be told any more, and which part of its output they
// had. Output that is text can still be taken from the result.
type Gap struct {
	From uint64 `json:"from" doc:"Number of the first missing event."`
	// To is 0 where it is not known how many there were.
	To     uint64     `json:"to,omitempty" doc:"Number of the last missing event. Absent if the number of missing events is unknown."`
	Stdout *ByteRange `json:"stdout,omitempty" doc:"Range of stdout in the missing events."`
	Stderr *ByteRange `json:"stderr,omitempty" doc:"Range of stderr in the missing events."`
}

// ByteRange is a part of a stream of output, as the program wrote it.
type ByteRange struct {
	From int64 `json:"from" doc:"Offset of its first byte."`
	To   int64 `json:"to" doc:"Offset of the byte after its last."`
}

// Replay calls each with the events after a number that the execution with this result had, in
// order and with their numbers. Neighbouring events that are no longer kept become one gap, which
// has the number of the last of them. The event of the end comes in any case. The result must have
// an outline.
func (r *Result) Replay(ctx context.Context, after uint64, each func(Event) error) (err error) {
	if len(r.Outline) == 0 {
		return errBadOutline
	}
	p := &replay{ctx: ctx, result: r, after: after, each: each, flags: r.Outline[0], at: r.StartedAt}
	defer func() { err = errors.Join(err, p.close()) }()
	for rest := []byte(r.Outline[1:]); len(rest) > 0; {
		var err error
		if rest, err = p.step(rest); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	return each(Event{Seq: p.seq + 1, Type: EventEnded, At: r.EndedAt, Result: r})
}

// replay is where the telling of a result's events is.
type replay struct {
	ctx      context.Context //nolint:containedctx // of the one call that tells
	result   *Result
	after    uint64
	each     func(Event) error
	flags    byte
	seq      uint64 // of the last event
	at       time.Time
	told     [2]int64 // bytes of stdout and stderr, as they were written
	text     [2]int   // the same, as the result has them
	displays int
	gap      *Gap
	source   [2]io.ReadCloser // of stdout and stderr, where it was read last
	read     [2]int           // how far
}

// step takes the next event off the outline, and returns the rest.
func (p *replay) step(outline []byte) (rest []byte, err error) {
	kind := outline[0]
	if kind == outlineRest {
		return p.skipRest(outline[1:])
	}
	var pause, size uint64
	if rest, err = takeNumbers(outline[1:], &pause, &size); err != nil {
		return nil, err
	}
	variant, number, kinds := kind&^7, int(kind&7), outlineKinds()
	if number >= len(kinds) || variant > outlineSkip {
		return nil, errBadOutline
	}
	e := Event{Type: kinds[number]}
	if stream := streamIndex(e.Type); variant == outlineSkip && stream >= 0 {
		p.text[stream] += int(min(size, MaxOutputLimit))
		return rest, nil
	}
	p.seq++
	p.at = p.at.Add(time.Duration(pause) * time.Millisecond)
	e.Seq, e.At = p.seq, p.at
	if e.Type == EventProgress {
		if size > uint64(len(rest)) {
			return nil, errBadOutline
		}
		e.Data, rest = rest[:size:size], rest[size:]
	}
	return rest, p.show(e, int64(min(size, MaxOutputLimit)), variant == outlineLost)
}

// takeNumbers takes numbers off an outline, and returns the rest.
func takeNumbers(outline []byte, into ...*uint64) (rest []byte, err error) {
	for _, number := range into {
		value, n := binary.Uvarint(outline)
		if n <= 0 {
			return nil, errBadOutline
		}
		*number, outline = value, outline[n:]
	}
	return outline, nil
}

// show replays an event with the result's part of it; size is the size of its output.
func (p *replay) show(e Event, size int64, lost bool) error {
	switch e.Type {
	case EventStarted, EventProgress:
		return p.tell(e)
	case EventStdout, EventStderr:
		return p.output(e, size, lost)
	case EventDisplay:
		i := p.displays
		if p.displays++; p.flags&outlineDisplays != 0 && i < len(p.result.Displays) {
			e.Display = &DisplayEvent{Data: p.result.Displays[i], Main: p.result.MainDisplay != nil && *p.result.MainDisplay == i}
			return p.tell(e)
		}
	}
	return p.lose(1, [2]int64{}) // such as a piece of a response
}

// output tells a piece of stdout or stderr, if the result has it.
func (p *replay) output(e Event, size int64, lost bool) error {
	stream := streamIndex(e.Type)
	begin := p.text[stream]
	if lost || p.flags&(outlineStdout<<stream) == 0 || int64(begin)+size > p.result.OutputBytes(e.Type) {
		var bytes [2]int64
		bytes[stream] = size
		return p.lose(1, bytes)
	}
	p.text[stream], p.told[stream] = begin+int(size), p.told[stream]+size
	if e.Seq <= p.after {
		return nil
	}
	var err error
	if e.Data, err = p.take(e.Type, stream, begin, int(size)); err != nil {
		return err
	}
	return p.tell(e)
}

// take reads so many bytes of a stream from an offset on.
func (p *replay) take(kind EventType, stream, begin, size int) (_ []byte, err error) {
	if p.source[stream] == nil || p.read[stream] != begin {
		if p.source[stream] != nil {
			_ = p.source[stream].Close()
		}
		if p.source[stream], err = p.result.OpenOutput(p.ctx, kind, int64(begin)); err != nil {
			return nil, err
		}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(p.source[stream], data); err != nil {
		return nil, fmt.Errorf("reading output to tell it again: %w", err)
	}
	p.read[stream] = begin + size
	return data, nil
}

// close closes what output was read from.
func (p *replay) close() (err error) {
	for _, source := range p.source {
		if source != nil {
			err = errors.Join(err, source.Close())
		}
	}
	return err
}

// skipRest takes the events off that the outline had no room for.
func (p *replay) skipRest(outline []byte) (rest []byte, err error) {
	var events, stdout, stderr uint64
	if rest, err = takeNumbers(outline, &events, &stdout, &stderr); err != nil {
		return nil, err
	}
	p.seq += events
	return rest, p.lose(events, [2]int64{int64(stdout), int64(stderr)})
}

// tell hands on an event that is wanted.
func (p *replay) tell(e Event) error {
	if e.Seq <= p.after {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.each(e)
}

// lose notes that the last events, so many, are gone, with so many bytes of stdout and stderr.
func (p *replay) lose(events uint64, bytes [2]int64) error {
	before := p.told
	p.told[0], p.told[1] = p.told[0]+bytes[0], p.told[1]+bytes[1]
	if p.seq <= p.after {
		return nil
	}
	if p.gap == nil {
		p.gap = &Gap{From: max(p.seq-events, p.after) + 1}
	}
	p.gap.To = p.seq
	for i, lost := range []**ByteRange{&p.gap.Stdout, &p.gap.Stderr} {
		if bytes[i] == 0 {
			continue
		}
		if *lost == nil {
			*lost = &ByteRange{From: before[i]}
		}
		(*lost).To = p.told[i]
	}
	return nil
}

// flush tells of the events that were lost last.
func (p *replay) flush() error {
	gap := p.gap
	if p.gap = nil; gap == nil {
		return nil
	}
	return p.each(Event{Seq: gap.To, Type: EventGap, At: p.at, Gap: gap})
}
