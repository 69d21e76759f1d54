package run

import (
	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/runlog"
)

// eventReader makes the events of an execution of the entries of its log, in their order.
type eventReader struct {
	ahead    []yurt.Phase // of the execution
	seq      uint64       // of the last event
	messages Messages     // of an execution in a context; nil for another kind
	log      *runlog.Log
}

// Messages reads the messages of an execution in a context out of its log.
type Messages interface {
	// Each calls show with the events that an entry is.
	Each(entry runlog.Entry, show func(yurt.Event) error) error
}

func (r *Run) eventReader() *eventReader {
	d := &eventReader{ahead: r.phasesAhead(), log: r.Log}
	if r.Record.Cell != nil {
		d.messages = r.Sandbox.node.Messages(r.Record.ID, *r.Record.Cell)
	}
	return d
}

// read calls each with the events of an entry: mostly one; an entry that watchers do not see has no event.
func (d *eventReader) read(entry runlog.Entry, each func(yurt.Event) error) error {
	next := func(event yurt.Event) error {
		d.seq++
		event.Seq = d.seq
		return each(event)
	}
	event := yurt.Event{At: entry.At, Data: entry.Data}
	switch entry.Kind {
	case runlog.Started:
		event.Type, event.Data, event.Phases = yurt.EventStarted, nil, d.ahead
	case runlog.Progress:
		if len(entry.Data) == 0 {
			return nil
		}
		event.Type = yurt.EventProgress
	case runlog.Stdout:
		event.Type = yurt.EventStdout
	case runlog.Stderr:
		event.Type = yurt.EventStderr
	case runlog.Ended:
		result, err := decodeResult(d.log, entry.Data)
		if err != nil {
			return err
		}
		event.Type, event.Data, event.Result = yurt.EventEnded, nil, result
	case runlog.Control:
		if d.messages == nil {
			return nil
		}
		return d.messages.Each(entry, next)
	default:
		return nil // not for watchers, and not counted
	}
	return next(event)
}

// outline says which events the run has had, for its result; nil if that cannot be read, or is not
// kept.
func (r *Run) outline(result *yurt.Result) yurt.Outline {
	switch {
	case r.stream != nil:
		return yurt.UnkeptOutline(r.stream.chunks, result)
	case r.Record.Unlimited():
		return nil
	}
	var builder yurt.OutlineBuilder
	events := r.eventReader()
	err := r.readLog(func(entry runlog.Entry) error {
		return events.read(entry, func(event yurt.Event) error {
			builder.Add(event)
			return nil
		})
	})
	if err != nil {
		return nil
	}
	return builder.Outline(result)
}
